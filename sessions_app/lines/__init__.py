"""Lines of long lists as HTML, written without a template: rows, groups and calls of a transcript, sessions of a list.

Values of `pages` in, safe HTML out, every value escaped. Only template tags use this package; it may use `pages`,
`rendering` and the tags of `site`.
"""
