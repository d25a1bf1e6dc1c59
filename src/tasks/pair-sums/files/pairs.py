import sys

total, *numbers = map(int, sys.stdin.read().split())
pairs = 0
for first in range(len(numbers)):
    for second in range(first + 1, len(numbers)):
        if numbers[first] + numbers[second] == total:
            pairs += 1
print(pairs)
