import sys

merged = []
for start, end in sorted(tuple(map(int, line.split())) for line in sys.stdin if line.strip()):
    if merged and start <= merged[-1][1]:
        merged[-1][1] = max(merged[-1][1], end)
    else:
        merged.append([start, end])
for start, end in merged:
    print(start, end)
