#!/bin/sh
# pkg_config.sh PREFIX CC: compiles the C example against the Stretto that is installed in PREFIX, by pkg-config, and runs it.
set -e
if ! command -v pkg-config > /dev/null; then
    echo "package.pkg_config: skipped: there is no pkg-config" | tee -a "${STRETTO_SKIP_LOG:-/dev/null}"
    exit 77
fi
export PKG_CONFIG_PATH="$1/lib/pkgconfig" LD_LIBRARY_PATH="$1/lib"
program=$1/ranks
"$2" -std=c99 -pedantic -Wall -Wextra -Werror "${0%/*}/outside/ranks.c" -o "$program" $(pkg-config --cflags --libs stretto)
"$program"
