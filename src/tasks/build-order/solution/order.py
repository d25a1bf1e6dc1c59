import heapq
import sys

needs = {}
for line in sys.stdin:
    if line.strip():
        part, _, rest = line.partition(":")
        needs.setdefault(part.strip(), set()).update(rest.split())
for needed in [one for all_ in list(needs.values()) for one in all_]:
    needs.setdefault(needed, set())
users = {part: [] for part in needs}
for part, all_ in needs.items():
    for one in all_:
        users[one].append(part)
missing = {part: len(all_) for part, all_ in needs.items()}
ready = [part for part in needs if missing[part] == 0]
heapq.heapify(ready)
order = []
while ready:
    part = heapq.heappop(ready)
    order.append(part)
    for user in users[part]:
        missing[user] -= 1
        if missing[user] == 0:
            heapq.heappush(ready, user)
if len(order) < len(needs):
    sys.exit(1)
for part in order:
    print(part)
