def find(db, name):
    return db.execute(f"SELECT name, age FROM users WHERE name = '{name}'").fetchone()


def search(db, part, order):
    return db.execute(f"SELECT name, age FROM users WHERE name LIKE '%{part}%' ORDER BY {order}, name").fetchall()


def add(db, name, age):
    db.executescript(f"INSERT INTO users (name, age) VALUES ('{name}', {age});")
