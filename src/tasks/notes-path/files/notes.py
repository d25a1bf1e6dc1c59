import os


def read(root, name):
    with open(os.path.join(root, name)) as file:
        return file.read()


def write(root, name, text):
    path = os.path.join(root, name)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w") as file:
        file.write(text)
