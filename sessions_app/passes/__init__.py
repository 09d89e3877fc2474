"""Making passes over stored sessions: plan, ask, settle, commit, tell.

Must hold no transaction while a summarizer is asked, and must not decide anything the engine decides. One runner serves
all kinds of pass (`running`); what differs between them is how they are decided (`deciding`) and what their log lines
say (`reporting`). What happens in memory is only published after it is stored; a pass that can't be stored never
happened.
"""
