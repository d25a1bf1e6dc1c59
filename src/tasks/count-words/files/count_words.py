import sys


def count_words(text):
    counts = {}
    for word in text.split(" "):
        counts[word] = counts.get(word, 0) + 1
    return sorted(counts.items(), key=lambda item: item[1])


def main():
    with open(sys.argv[1]) as file:
        for word, count in count_words(file.read())[:{{top}}]:
            print(word, count)


if __name__ == "__main__":
    main()
