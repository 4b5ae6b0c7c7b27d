"""How texts are found again in what a client made of them: inside JSON, inside JSON in a text, or cut."""
import json
import re

WORTH = 40
"""So many first characters of a text prove that what stands there is this text, cut."""
MAX_DEPTH = 4
MAX_STARTS = 200


def all_texts(value, depth=0):
    """Every text inside a JSON value, and inside JSON that stands in a text."""
    if isinstance(value, dict):
        return [text for inner in value.values() for text in all_texts(inner, depth)]
    if isinstance(value, list):
        return [text for inner in value for text in all_texts(inner, depth)]
    if not isinstance(value, str):
        return []
    found = [value]
    if depth < MAX_DEPTH:
        for inner in json_inside(value):
            found += all_texts(inner, depth + 1)
    return found


def json_inside(text):
    """The JSON objects and lists in a text, from left to right, none inside another."""
    decoder, at, starts = json.JSONDecoder(), 0, 0
    while starts < MAX_STARTS:
        begins = [place for place in (text.find("{", at), text.find("[", at)) if place >= 0]
        if not begins:
            return
        starts += 1
        try:
            value, end = decoder.raw_decode(text, min(begins))
        except ValueError:
            at = min(begins) + 1
            continue
        at = end
        if isinstance(value, (dict, list)):
            yield value


def flush(text):
    """A text without the indents of its lines."""
    return re.sub(r"\n[ \t]+", "\n", text)


def same_json(sent, texts):
    """Whether a text that is JSON arrived as the same JSON in other words: some clients write it again."""
    try:
        value = json.loads(sent)
    except ValueError:
        return False
    return any(inner == value for text in texts for inner in json_inside(text))


def kept(sent, texts):
    """How many of the first characters of `sent` stand in one of the texts; all of them where nothing was cut."""
    sent = sent.strip()
    if any(sent in text for text in texts):
        return len(sent)
    near = [text for text in texts if sent[:WORTH] in text]
    if len(sent) < WORTH or not near:
        return 0
    least, most = WORTH, len(sent)
    while most - least > 1:
        middle = (least + most) // 2
        if any(sent[:middle] in text for text in near):
            least = middle
        else:
            most = middle
    return least


def fate(sent, texts):
    """What became of a text: whole, absent, or how much of it arrived. Some clients indent its lines."""
    sent, texts = flush(sent), [flush(text) for text in texts]
    arrived = kept(sent, texts)
    if arrived == len(sent.strip()):
        return "whole"
    return f"cut at {arrived} of {len(sent)}" if arrived else "absent"
