"""Playing recorded sessions once more, as an agent would have them happen.

`sources` reads a recording from a file, from the store or from the samples; `steps` tells what an agent does with it,
one thing after the other; `pace` says how long it waits in between. These are values and reads: whoever plays writes,
over the API (`http_player`) or through the services.
"""
