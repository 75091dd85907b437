// Mistakes in the text of a schedule: line and column, what is there, what may be there.
#include "schedule/schedule.h"
#include "tests/golden.h"
#include "tests/schedule/programs.h"

using namespace stretto;
using namespace stretto::test;

TEST_CASE("every mistake names its place") {
    Adam a;
    std::string text;
    for (const char *mistake : {
             "splt(gsum)",
             "unrol(p1, 4)",
             "split(gsun)",
             "split(gsum)\nreorder(gsum.ga, {avg})",
             "split(gsum)\nreorder(gsum.ag, {avg, mm1})",
             "as_slice(mm)",
             "as_slice(lr)",
             "collective(gsum, OneShoot)",
             "vectorize(p1, eight)",
             "vectorize(p1, 99999999999)",
             "vectorize(p1, -)",
             "vectorize(p1)",
             "split({gsum})",
             "fuse(gsum, avg)",
             "fuse_all(gsum)",
             "split gsum",
             "split(gsum",
             "split(gsum, 0) split(gsum, 0)",
             "split(gsum, 0);",
             "reorder(gsum, {avg m1})",
             "fuse({avg, m1",
             "fuse({avg, 1})",
             "(gsum)",
             "gsum.rs = split(gsum)",
             "gsum.ag, gsum.rs = split(gsum)",
             "gsum.rs, gsum.ag, gsum.x = split(gsum)",
             "x = as_slice(m)",
             "gsum.rs, gsum.ag split(gsum)",
             "# fine\nsplit(gsum, 0)  # fine\n  reorder(gsum.ag, {p1})",
         }) {
        try {
            Schedule::parse(a.program, mistake);
            FAIL_CHECK("not refused: " << mistake);
        } catch (const Error &e) { text += std::string(e.what()) + "\n\n"; }
    }
    check_golden("schedule/parse_errors", text);
}

TEST_CASE("fuzz: what is no text is refused in words that can be read to their end") {
    Adam a;
    for (char c : {'\0', '\1', '\x1b'}) {
        std::string text;
        try {
            Schedule::parse(a.program, "fuse_all" + std::string(1, c) + "()");
        } catch (const Error &e) { text = e.what(); }
        const std::string place = "line 1, column 9: '?' has no meaning in a schedule.\n  fuse_all?()";
        CHECK_MESSAGE(text.find(place) != std::string::npos, text);
        CHECK_MESSAGE(text.find("\nLegal: ") != std::string::npos, text);
    }
}
