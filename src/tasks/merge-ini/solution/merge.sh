awk '
  function trimmed(text) { gsub(/^[ \t]+|[ \t]+$/, "", text); return text }
  # Says what a line is: sets kind, and name and value of a setting or the name of a section.
  function look(line,   text, at) {
    text = trimmed(line); kind = "other"
    if (text ~ /^\[.*\]$/) { kind = "section"; name = trimmed(substr(text, 2, length(text) - 2)) }
    else if (text !~ /^#/ && (at = index(text, "=")) > 0) {
      kind = "setting"; name = trimmed(substr(text, 1, at - 1)); value = trimmed(substr(text, at + 1))
    }
  }
  function news(section,   n) {
    for (n = 1; n <= count[section]; n++)
      if (!((section, key[section, n]) in known)) print key[section, n] " = " given[section, key[section, n]]
  }
  BEGIN {
    while ((getline line <ARGV[2]) > 0) {
      look(line)
      if (kind == "section") { at_over = name; if (!(name in listed)) { listed[name] = 1; order[++sections] = name } }
      if (kind == "setting") {
        if (!((at_over, name) in given)) key[at_over, ++count[at_over]] = name
        given[at_over, name] = value
      }
    }
    ARGV[2] = ""
  }
  {
    line_of[NR] = $0
    look($0)
    if (kind == "section") { at_base = name; seen[name] = 1; if (!((name) in last_setting)) last[name] = NR }
    if (kind == "setting") { known[at_base, name] = 1; last[at_base] = NR; last_setting[at_base] = 1 }
  }
  END {
    if (!("" in last)) news("")
    at_base = ""
    for (n = 1; n <= NR; n++) {
      look(line_of[n])
      if (kind == "section") at_base = name
      if (kind == "setting" && (at_base, name) in given) print name " = " given[at_base, name]
      else print line_of[n]
      if (last[at_base] == n) news(at_base)
    }
    for (n = 1; n <= sections; n++) if (!(order[n] in seen)) { print "[" order[n] "]"; news(order[n]) }
  }
' "$1" "$2"
