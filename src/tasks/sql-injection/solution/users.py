ORDERS = {"name": "name", "age": "age, name"}


def find(db, name):
    return db.execute("SELECT name, age FROM users WHERE name = ?", (name,)).fetchone()


def search(db, part, order):
    if order not in ORDERS:
        raise ValueError(f"no order: {order!r}")
    found = db.execute(
        f"SELECT name, age FROM users WHERE instr(lower(name), lower(?)) > 0 ORDER BY {ORDERS[order]}", (part,)
    )
    return found.fetchall()


def add(db, name, age):
    db.execute("INSERT INTO users (name, age) VALUES (?, ?)", (name, age))
    db.commit()
