#!/usr/bin/env bash
# Fails on tracked sources that clang-format would change, or with a line over 128 columns (100 is the aim; an aligned
# comment or a message may need a few more).
set -uo pipefail

skip() {
    echo "format: skipped: $1" | tee -a "${STRETTO_SKIP_LOG:-/dev/null}"
    exit 77
}
command -v clang-format > /dev/null || skip "clang-format is not installed"
command -v git > /dev/null && git rev-parse --git-dir > /dev/null 2>&1 || skip "not in a git checkout"

mapfile -t sources < <(git ls-files --cached --deduplicate '*.h' '*.hpp' '*.c' '*.cpp' '*.cu' |
    while read -r file; do [ -f "$file" ] && echo "$file"; done)
if [ ${#sources[@]} = 0 ]; then
    echo "format: git lists no sources" >&2
    exit 1
fi
status=0
awk '{ gsub(/[\200-\277]/, "") } length > 128 { print FILENAME ":" FNR ": " length " columns"; long = 1 } END { exit long }' \
    "${sources[@]}" || status=1
if ! clang-format --dry-run -Werror "${sources[@]}" 2> /tmp/stretto-format.$$; then
    grep 'error:' /tmp/stretto-format.$$ | head -40
    echo "./run format rewrites them."
    status=1
fi
rm -f /tmp/stretto-format.$$
[ $status != 0 ] || echo "${#sources[@]} files are formatted"
exit $status
