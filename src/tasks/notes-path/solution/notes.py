import os


def place(root, name):
    if name == "" or "\0" in name:
        raise PermissionError(f"no name of a note: {name!r}")
    top = os.path.realpath(root)
    path = os.path.realpath(os.path.join(top, name))
    if os.path.commonpath([top, path]) != top:
        raise PermissionError(f"outside of the notes: {name!r}")
    return path


def read(root, name):
    with open(place(root, name)) as file:
        return file.read()


def write(root, name, text):
    path = place(root, name)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w") as file:
        file.write(text)
