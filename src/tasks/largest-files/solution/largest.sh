cd "$1" || exit 1
find . -type f -exec stat -c '%s %n' {} + | sed 's|^\([0-9]*\) \./|\1 |' | LC_ALL=C sort -k1,1nr -k2 | head -n "$2"
