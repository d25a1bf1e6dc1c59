import sys

total, *numbers = map(int, sys.stdin.read().split())
seen = {}
pairs = 0
for number in numbers:
    pairs += seen.get(total - number, 0)
    seen[number] = seen.get(number, 0) + 1
print(pairs)
