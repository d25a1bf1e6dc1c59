import collections
import json
import re
import sys

FORM = re.compile(r'(\S+) \S+ \S+ \[[^\]]+\] "[A-Z]+ (\S+) HTTP/[0-9.]+" ([0-9]{3}) ([0-9]+|-)$')

with open(sys.argv[1]) as file:
    lines = [line for line in file.read().split("\n") if line.strip()]
requests = [match.groups() for match in map(FORM.match, lines) if match]
paths = collections.Counter(path.split("?")[0] for _, path, _, _ in requests)
print(
    json.dumps(
        {
            "requests": len(requests),
            "broken": len(lines) - len(requests),
            "bytes": sum(0 if size == "-" else int(size) for *_, size in requests),
            "statuses": collections.Counter(status for _, _, status, _ in requests),
            "paths": sorted(paths.items(), key=lambda item: (-item[1], item[0]))[:3],
            "errors": sorted({address for address, _, status, _ in requests if int(status) >= 500}),
        }
    )
)
