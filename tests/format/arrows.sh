#!/usr/bin/env bash
# Fails where a room of collectives/ includes something that is not below it, or anything of the compiler.
set -uo pipefail
status=0

# allowed ROOM FILES FOLDERS...: what the files may include of the project, beside <stretto/...>.
allowed() {
    local room=$1 pattern=$2
    shift 2
    local found
    found=$(grep -nHE '^#include "' $pattern | grep -vE "#include \"($(IFS='|'; echo "$*"))/[a-z_]+\.h\"$" | grep -v '"flatbuffers/')
    [ -z "$found" ] && return
    echo "collectives/$room includes what it may not use (only: $*):" >&2
    echo "$found" >&2
    status=1
}

# One way: execute -> comm -> transport -> world -> memory -> base; plan, mpi and run beside.
below=()
for room in base memory world transport comm execute; do
    below+=("collectives/$room")
    [ "$room" != execute ] || below+=(collectives/plan)
    allowed "$room" "collectives/$room/*.*" "${below[@]}"
done
allowed plan "collectives/plan/*.*" collectives/plan
allowed mpi "collectives/mpi/*.*" collectives/{base,memory,world,transport,comm}
allowed run "collectives/run/*.*" collectives/base
[ $status != 0 ] || echo "the arrows of collectives/ go one way"
exit $status
