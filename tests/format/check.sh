#!/usr/bin/env bash
# Fails on tracked sources that clang-format would change, with a line over 128 columns (100 is the aim; an aligned comment
# or a message may need a few more), or with a pattern that the structure of the compiler rules out.
set -uo pipefail

skip() {
    echo "format: skipped: $1" | tee -a "${STRETTO_SKIP_LOG:-/dev/null}"
    exit 77
}
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

# Four words each: what is wrong, the pattern (git grep -E), a line that it finds, and where it is looked for; :! is where it
# may stand.
patterns=(
    # Names are for people, made at the edge from a node's origin: nothing takes one apart. An index's name is refused when
    # it has a dot (program.cpp), and a text is printed with other names in it (loop_nest.cpp).
    "the '.' of a name decides"
    "find(_first_of|_last_of)?\('\.'|find\(\"\.[a-z]+\"|[!=]= ?'\.'"
    "if (name.rfind('.') != npos)"
    "lang schedule lower :!lang/program.cpp :!lower/loop_nest.cpp"

    # Names of what verbs and passes make are made in one function, of graph.cpp. artefact.cpp names files, and
    # halide_adapter.cpp the symbols of Halide's buffers.
    "a name is put together"
    "\+ ?\"\.[a-z]+\""
    "find(name + \".rs\")"
    "lang schedule lower :!lang/graph.cpp :!lower/generator/artefact.cpp :!lower/halide_adapter.cpp"

    # Communications differ in data (From, a reduction, a dimension), not in kind.
    "a kind of communication is a type"
    "(as|get_if|get|holds_alternative)<(AllReduce|ReduceScatter|AllGather|Broadcast|SliceOf|Shift)>"
    "if (n.as<AllReduce>())"
    "lang schedule lower collectives"

    # What a communication is matters to the surface, inference, reference and print; verbs and passes ask the node what it
    # reads and where it stores. stages.cpp makes accesses of it, and verify_stage.cpp has those made apart.
    "it is asked which communication a node is"
    "as<Communication>|get_if<Communication>"
    "if (auto *c = n.as<Communication>())"
    "schedule lower :!lower/stages.cpp :!lower/verify_stage.cpp"

    # Each function says which axis it means.
    "an axis by default"
    "\bint (a|axis) = [0-9]|(axis|axes|Axes( const)? &?[a-z]*) = ?(0|world_axis|\{(world_axis|0)?\})[,)]"
    "bool is_sliced(int axis = 0) const;"
    "include lang schedule lower collectives"
)
for ((k = 0; k < ${#patterns[@]}; k += 4)); do
    if ! grep -qE "${patterns[k + 1]}" <<< "${patterns[k + 2]}"; then
        echo "format: the pattern of \"${patterns[k]}\" does not find its line" >&2
        status=1
    fi
    if found=$(git grep -nE "${patterns[k + 1]}" -- ${patterns[k + 3]}); then
        printf '%s\n' "$found" | sed "s/\$/    # ${patterns[k]}/"
        status=1
    fi
done

if ! command -v clang-format > /dev/null; then
    [ $status = 0 ] || exit $status
    skip "clang-format is not installed"
fi
if ! clang-format --dry-run -Werror "${sources[@]}" 2> /tmp/stretto-format.$$; then
    grep 'error:' /tmp/stretto-format.$$ | head -40
    echo "./run format rewrites them."
    status=1
fi
rm -f /tmp/stretto-format.$$
[ $status != 0 ] || echo "${#sources[@]} files are formatted"
exit $status
