import sys


def lines_of(path):
    with open(path) as file:
        return file.read().split("\n")[:-1]


a, b = map(lines_of, sys.argv[1:])
# longest[i][j]: how many lines of a[i:] and b[j:] can stay
longest = [[0] * (len(b) + 1) for _ in range(len(a) + 1)]
for i in range(len(a) - 1, -1, -1):
    row, below = longest[i], longest[i + 1]
    for j in range(len(b) - 1, -1, -1):
        row[j] = below[j + 1] + 1 if a[i] == b[j] else max(below[j], row[j + 1])
i = j = 0
come = []


def say_come():
    for line in come:
        print("+ " + line)
    come.clear()


while i < len(a) or j < len(b):
    if i < len(a) and j < len(b) and a[i] == b[j]:
        say_come()
        print("  " + a[i])
        i, j = i + 1, j + 1
    elif j == len(b) or (i < len(a) and longest[i + 1][j] >= longest[i][j + 1]):
        print("- " + a[i])
        i += 1
    else:
        come.append(b[j])
        j += 1
say_come()
