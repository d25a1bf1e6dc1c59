import json
import sys


def written(key):
    text = key.replace("\\", "\\\\").replace(".", "\\.")
    return "\\" + text if text.startswith("[") else text


def flatten(value, way, into):
    if isinstance(value, dict) and value:
        for key, inner in value.items():
            flatten(inner, [*way, written(key)], into)
    elif isinstance(value, list) and value:
        for index, inner in enumerate(value):
            flatten(inner, [*way, f"[{index}]"], into)
    else:
        into[".".join(way)] = value
    return into


def parts(way):
    found, text, at, escaped = [], "", 0, False
    begins_list = way.startswith("[")
    while at < len(way):
        character = way[at]
        if character == "\\":
            text += way[at + 1]
            at += 2
        elif character == ".":
            found.append((begins_list, text))
            text, at = "", at + 1
            begins_list = way[at : at + 1] == "["
        else:
            text += character
            at += 1
    return [*found, (begins_list, text)]


def restore(flat):
    if list(flat) == [""]:
        return flat[""]
    top = {}
    for way, value in flat.items():
        place = top
        *inner, last = parts(way)
        for part in inner:
            place = place.setdefault(part, {})
        place[last] = value if not isinstance(value, (dict, list)) else ("empty", value)
    return built(top)


def built(place):
    if isinstance(place, tuple):
        return place[1]
    if not isinstance(place, dict):
        return place
    if next(iter(place))[0]:
        ordered = sorted(place.items(), key=lambda item: int(item[0][1][1:-1]))
        return [built(inner) for _, inner in ordered]
    return {key: built(inner) for (_, key), inner in place.items()}


value = json.load(sys.stdin)
print(json.dumps(flatten(value, [], {}) if sys.argv[1] == "flatten" else restore(value)))
