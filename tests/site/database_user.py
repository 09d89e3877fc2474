"""One user of the embedded server, as a process of its own: attach, say so, wait for the end of standard input, detach.

Prints one JSON object a line. Arguments: the home folder, and which programs to use.
"""

import json
import sys
from pathlib import Path

from hermes_site.postgres.attachment import Attachment
from hermes_site.postgres.errors import ServerUnavailable
from hermes_site.postgres.postmaster import find_postmaster
from hermes_site.postgres.server import ServerOptions


def say(**facts):
    print(json.dumps(facts), flush=True)


def main(home, programs):
    attachment = Attachment(Path(home), ServerOptions(programs, is_durable=False))
    try:
        address = attachment.attach("things")
    except ServerUnavailable as error:
        say(error=str(error))
        return
    say(url=address.url, postmaster=find_postmaster(attachment.place.data).pid, data=str(attachment.place.data))
    sys.stdin.read()
    say(was_last=attachment.detach())


if __name__ == "__main__":
    main(*sys.argv[1:])
