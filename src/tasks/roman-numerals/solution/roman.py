import re
import sys

PARTS = [(1000, "M"), (900, "CM"), (500, "D"), (400, "CD"), (100, "C"), (90, "XC"), (50, "L"), (40, "XL"), (10, "X"), (9, "IX")]
PARTS += [(5, "V"), (4, "IV"), (1, "I")]


def roman(number):
    text = ""
    for value, letters in PARTS:
        text += letters * (number // value)
        number %= value
    return text


NUMERALS = {roman(number): number for number in range(1, 4000)}

for line in sys.stdin:
    text = line.rstrip("\n")
    if re.fullmatch("[1-9][0-9]{0,3}", text) and int(text) < 4000:
        print(roman(int(text)))
    else:
        print(NUMERALS.get(text, "invalid"))
