// main of every doctest program. A filter that matches nothing, or a file whose cases were compiled away, is a failure:
// doctest alone would report success.
#define DOCTEST_CONFIG_IMPLEMENT
#include <doctest/doctest.h>

#include <cstdio>

namespace {

int cases_run = 0;

struct CountCases : doctest::IReporter {
    explicit CountCases(const doctest::ContextOptions &) {}
    void report_query(const doctest::QueryData &) override {}
    void test_run_start() override {}
    void test_run_end(const doctest::TestRunStats &) override {}
    void test_case_start(const doctest::TestCaseData &) override { cases_run++; }
    void test_case_reenter(const doctest::TestCaseData &) override {}
    void test_case_end(const doctest::CurrentTestCaseStats &) override {}
    void test_case_exception(const doctest::TestCaseException &) override {}
    void subcase_start(const doctest::SubcaseSignature &) override {}
    void subcase_end() override {}
    void log_assert(const doctest::AssertData &) override {}
    void log_message(const doctest::MessageData &) override {}
    void test_case_skipped(const doctest::TestCaseData &) override {}
};

REGISTER_LISTENER("count", 1, CountCases);

}  // namespace

int main(int argc, char **argv) {
    doctest::Context context(argc, argv);
    int status = context.run();
    if (context.shouldExit()) return status;  // --list-test-cases and the like
    if (cases_run == 0) {
        std::fprintf(stderr, "%s: no test case ran\n", argv[0]);
        return 1;
    }
    return status;
}
