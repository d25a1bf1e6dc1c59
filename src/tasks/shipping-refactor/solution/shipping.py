FACTORS = {"DE": 1.0, "FR": 1.4, "US": 2.5}


def price(base, per_ten_grams, most, grams, country):
    if country not in FACTORS:
        raise ValueError("unknown country")
    if grams > most:
        raise ValueError("too heavy")
    return round((base + per_ten_grams * (grams // 10)) * FACTORS[country])


def letter(grams, country):
    return price(85, 1, 1000, grams, country)


def parcel(grams, country):
    return price(450, 3, 30000, grams, country)


def express(grams, country):
    return price(1500, 5, 20000, grams, country)
