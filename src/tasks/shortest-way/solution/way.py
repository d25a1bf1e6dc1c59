import heapq
import sys

first, *lines = sys.stdin.read().splitlines()
start, goal = first.split()
near = {}
for line in lines:
    if line.strip():
        a, b, cost = line.split()
        near.setdefault(a, []).append((b, int(cost)))
        near.setdefault(b, []).append((a, int(cost)))
queue, done = [(0, 1, [start])], set()
while queue:
    cost, length, way = heapq.heappop(queue)
    place = way[-1]
    if place == goal:
        print(cost)
        print(" ".join(way))
        break
    if place in done:
        continue
    done.add(place)
    for other, more in near.get(place, ()):
        if other not in done:
            heapq.heappush(queue, (cost + more, length + 1, [*way, other]))
else:
    print("none")
