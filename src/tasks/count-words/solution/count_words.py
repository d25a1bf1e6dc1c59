import collections
import re
import sys


def count_words(text):
    counts = collections.Counter(re.findall("[a-z]+", text.lower()))
    return sorted(counts.items(), key=lambda item: (-item[1], item[0]))


def main():
    with open(sys.argv[1]) as file:
        for word, count in count_words(file.read())[:{{top}}]:
            print(word, count)


if __name__ == "__main__":
    main()
