import re
import sys

TOKEN = re.compile(r"\s*([0-9]+|[-+*/%^()])", re.ASCII)


class Wrong(Exception):
    pass


def tokens_of(text):
    found, at = [], 0
    text = text.rstrip()
    while at < len(text):
        match = TOKEN.match(text, at)
        if not match:
            raise Wrong
        found.append(match[1])
        at = match.end()
    return found


class Reader:
    def __init__(self, tokens):
        self.tokens = tokens

    def peek(self):
        return self.tokens[0] if self.tokens else None

    def take(self):
        if not self.tokens:
            raise Wrong
        return self.tokens.pop(0)

    def sum(self):
        value = self.product()
        while self.peek() in ("+", "-"):
            value = value + self.product() if self.take() == "+" else value - self.product()
        return value

    def product(self):
        value = self.signed()
        while self.peek() in ("*", "/", "%"):
            operator, other = self.take(), self.signed()
            if operator != "*" and other == 0:
                raise Wrong
            value = value * other if operator == "*" else value // other if operator == "/" else value % other
        return value

    def signed(self):
        if self.peek() == "-":
            self.take()
            return -self.signed()
        if self.peek() == "+":
            self.take()
            return self.signed()
        return self.power()

    def power(self):
        value = self.single()
        if self.peek() != "^":
            return value
        self.take()
        exponent = self.signed()
        if not 0 <= exponent <= 1000:
            raise Wrong
        return value**exponent

    def single(self):
        token = self.take()
        if token == "(":
            value = self.sum()
            if self.take() != ")":
                raise Wrong
            return value
        if not token.isdigit():
            raise Wrong
        return int(token)


def value_of(text):
    reader = Reader(tokens_of(text))
    value = reader.sum()
    if reader.peek() is not None:
        raise Wrong
    return value


for line in sys.stdin:
    try:
        print(value_of(line))
    except Wrong:
        print("error")
