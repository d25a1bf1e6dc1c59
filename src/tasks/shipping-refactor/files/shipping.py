def letter(grams, country):
    if country == "DE":
        factor = 1.0
    elif country == "FR":
        factor = 1.4
    elif country == "US":
        factor = 2.5
    else:
        raise ValueError("unknown country")
    if grams > 1000:
        raise ValueError("too heavy")
    cents = 85
    cents += 1 * (grams // 10)
    return round(cents * factor)


def parcel(grams, country):
    if country == "DE":
        factor = 1.0
    elif country == "FR":
        factor = 1.4
    elif country == "US":
        factor = 2.5
    else:
        raise ValueError("unknown country")
    if grams > 30000:
        raise ValueError("too heavy")
    cents = 450
    cents += 3 * (grams // 10)
    return round(cents * factor)


def express(grams, country):
    if country == "DE":
        factor = 1.0
    elif country == "FR":
        factor = 1.4
    elif country == "US":
        factor = 2.5
    else:
        raise ValueError("unknown country")
    if grams > 20000:
        raise ValueError("too heavy")
    cents = 1500
    cents += 5 * (grams // 10)
    return round(cents * factor)
