// Ranks from what launchers put into the environment, and what is wrong with an environment.
#include <doctest/doctest.h>

#include <algorithm>
#include <memory>
#include <regex>

#include "child.h"
#include "collectives/base/error.h"
#include "collectives/comm/environment.h"
#include "ranks.h"

using namespace stretto::test;
using stretto::runtime::Launch;
using stretto::runtime::read_launch;

namespace {

const char *const all_names[] = {"STRETTO_RANK",
                                 "STRETTO_RANKS",
                                 "STRETTO_JOB",
                                 "OMPI_COMM_WORLD_RANK",
                                 "OMPI_COMM_WORLD_SIZE",
                                 "OMPI_COMM_WORLD_LOCAL_SIZE",
                                 "OMPI_MCA_ess_base_jobid",
                                 "PMIX_NAMESPACE",
                                 "OMPI_MCA_orte_precondition_transports",
                                 "RANK",
                                 "WORLD_SIZE",
                                 "LOCAL_WORLD_SIZE",
                                 "MASTER_ADDR",
                                 "MASTER_PORT",
                                 "TORCHELASTIC_RUN_ID",
                                 "TORCHELASTIC_RESTART_COUNT",
                                 "FLUX_TASK_RANK",
                                 "FLUX_JOB_SIZE",
                                 "FLUX_JOB_NNODES",
                                 "FLUX_JOB_ID",
                                 "FLUX_URI",
                                 "PALS_RANKID",
                                 "PALS_APID",
                                 "PMIX_RANK",
                                 "PMI_LOCAL_SIZE",
                                 "PMI_RANK",
                                 "PMI_SIZE",
                                 "PMI_FD",
                                 "PMI_PORT",
                                 "PMI_KVS",
                                 "PMI_JOBID",
                                 "MPI_LOCALNRANKS",
                                 "SLURM_PROCID",
                                 "SLURM_NTASKS",
                                 "SLURM_STEP_NUM_TASKS",
                                 "SLURM_STEP_NUM_NODES",
                                 "SLURM_NNODES",
                                 "SLURM_JOB_ID",
                                 "SLURM_STEP_ID"};

// Only these variables are set while read_launch runs.
std::string read(const Environment &set, Launch *launch) {
    std::vector<std::unique_ptr<Variable>> variables;
    for (const char *name : all_names)
        variables.push_back(std::make_unique<Variable>(name, nullptr));
    for (auto &[name, value] : set)
        variables.push_back(std::make_unique<Variable>(name.c_str(), value.c_str()));
    *launch = Launch{};
    std::string text = read_launch(launch) ? stretto_last_error() : "";
    while (!variables.empty()) variables.pop_back();  // in the reverse order of setting
    return text;
}

Environment only(Environment set) {
    Environment all;
    for (const char *name : all_names) all.push_back({name, ""});
    all.insert(all.end(), set.begin(), set.end());
    return all;
}

void check_job(const std::vector<Environment> &ranks) {
    std::vector<std::unique_ptr<Child>> jobs;
    for (const Environment &e : ranks)
        jobs.push_back(
            std::make_unique<Child>(std::vector<std::string>{RANK_PROGRAM, "hello"}, only(e)));
    for (size_t r = 0; r < jobs.size(); r++) {
        std::string line;
        CHECK(jobs[r]->line(&line));
        CHECK(line == "rank " + std::to_string(r) + ": of " + std::to_string(jobs.size()));
        CHECK(jobs[r]->wait() == 0);
    }
}

}  // namespace

TEST_CASE("environment: whose variables count") {
    Launch l;
    CHECK(read({}, &l) == "");
    CHECK(l.launcher == "");
    CHECK(l.ranks == 1);
    CHECK(read({{"RANK", "1"}, {"WORLD_SIZE", "4"}, {"MASTER_PORT", "29500"}}, &l) == "");
    CHECK(l.launcher == "torchrun");
    CHECK(l.rank == 1);
    CHECK(l.ranks == 4);
    CHECK(l.origin == "torchrun: RANK=1, WORLD_SIZE=4");
    CHECK(read({{"SLURM_PROCID", "0"},
                {"SLURM_NTASKS", "8"},
                {"OMPI_COMM_WORLD_RANK", "3"},
                {"OMPI_COMM_WORLD_SIZE", "4"},
                {"PMIX_NAMESPACE", "17"}},
               &l) == "");
    CHECK(l.launcher == "Open MPI");
    CHECK(l.rank == 3);
    CHECK(read({{"SLURM_PROCID", "2"}, {"SLURM_NTASKS", "8"}, {"SLURM_STEP_NUM_TASKS", "4"}, {"SLURM_JOB_ID", "17"}}, &l) ==
          "");
    CHECK(l.launcher == "Slurm");
    CHECK(l.ranks == 4);
    CHECK(read({{"PMI_RANK", "0"}, {"PMI_SIZE", "1"}}, &l) == "");
    CHECK(l.ranks == 1);
    CHECK(read({{"SLURM_NTASKS", "1"}}, &l) == "");
    CHECK(l.ranks == 1);
}

TEST_CASE("D18: ranks of Flux and PALS; PMIx does not say how many there are") {
    Launch l;
    const Environment flux{{"FLUX_TASK_RANK", "2"}, {"FLUX_JOB_SIZE", "4"}, {"FLUX_JOB_NNODES", "1"}, {"FLUX_JOB_ID", "f1"}};
    Environment with_pmi = flux;
    for (const char *name : {"PMI_RANK", "PMI_SIZE", "PMI_FD"}) with_pmi.push_back({name, "17"});
    CHECK(read(with_pmi, &l) == "");
    CHECK(l.origin == "Flux: FLUX_TASK_RANK=2, FLUX_JOB_SIZE=4");
    CHECK(read({{"FLUX_TASK_RANK", "2"}, {"FLUX_JOB_SIZE", "4"}, {"FLUX_JOB_NNODES", "2"}, {"FLUX_JOB_ID", "f1"}}, &l) ==
          "Flux: FLUX_TASK_RANK=2, FLUX_JOB_SIZE=4, FLUX_JOB_NNODES=2: the ranks are on several hosts; "
          "stretto_comm_from_env is for one host, use stretto_comm_from_mpi");
    CHECK(read({{"FLUX_TASK_RANK", "2"}}, &l) ==
          "FLUX_TASK_RANK=2 is set but FLUX_JOB_SIZE is not: set both, as Flux does, or neither to run as one rank");
    CHECK(read({{"PALS_RANKID", "1"}, {"PALS_APID", "a"}, {"PMI_SIZE", "3"}, {"PMI_LOCAL_SIZE", "3"}}, &l) == "");
    CHECK(l.origin == "PMI: PALS_RANKID=1, PMI_SIZE=3");
    CHECK(l.job == "PALS_APID=a\n");
    CHECK(read({{"PALS_RANKID", "1"}, {"PALS_APID", "a"}}, &l) ==
          "PALS_RANKID=1 is set but PMI_SIZE is not: set both, as PMI does, or neither to run as one rank");
    CHECK(read({{"PMIX_RANK", "1"}, {"PMIX_NAMESPACE", "17"}}, &l) ==
          "PMIX_RANK=1 is set, as PMIx does, and nothing that says how many ranks there are: use stretto_comm_create or "
          "stretto_comm_from_mpi, or set RANK, WORLD_SIZE and MASTER_PORT");
    const Environment slurm{{"SLURM_PROCID", "1"}, {"SLURM_NTASKS", "2"}, {"SLURM_JOB_ID", "5"}, {"PMIX_RANK", "1"}};
    CHECK(read(slurm, &l) == "");
    CHECK(l.launcher == "Slurm");
}

TEST_CASE("D10: ranks of which nothing says in which of the host's jobs they are") {
    Launch l;
    const std::string tail =
        " is not set, which would say which job of this host that is: set it alike on all ranks, or start "
        "them with stretto_run";
    CHECK(read({{"RANK", "0"}, {"WORLD_SIZE", "2"}, {"MASTER_ADDR", "localhost"}}, &l) ==
          "torchrun: RANK=0, WORLD_SIZE=2, but MASTER_PORT or TORCHELASTIC_RUN_ID" + tail);
    CHECK(read({{"SLURM_PROCID", "1"}, {"SLURM_NTASKS", "2"}}, &l) ==
          "Slurm: SLURM_PROCID=1, SLURM_NTASKS=2, but SLURM_JOB_ID" + tail);
    CHECK(read({{"RANK", "0"}, {"WORLD_SIZE", "1"}}, &l) == "");  // it meets nobody
}

TEST_CASE("environment: what is wrong with it") {
    Launch l;
    CHECK(read({{"RANK", "1"}}, &l) ==
          "RANK=1 is set but WORLD_SIZE is not: set both, as torchrun does, or neither to run as "
          "one rank");
    CHECK(read({{"WORLD_SIZE", "4"}}, &l) ==
          "WORLD_SIZE=4 is set but RANK is not: set both, as torchrun does, or neither to run as "
          "one rank");
    CHECK(read({{"PMI_SIZE", "4"}}, &l) ==
          "PMI_SIZE=4 is set but PMI_RANK is not: set both, as PMI does, or neither to run as one "
          "rank");
    CHECK(read({{"SLURM_NTASKS", "4"}}, &l) ==
          "SLURM_NTASKS=4 is set but SLURM_PROCID is not: set both, as Slurm does, or neither to "
          "run as one rank");
    CHECK(read({{"RANK", "4"}, {"WORLD_SIZE", "4"}}, &l) ==
          "torchrun: RANK=4, WORLD_SIZE=4: RANK must be less than WORLD_SIZE");
    CHECK(read({{"RANK", "-1"}, {"WORLD_SIZE", "4"}}, &l) ==
          "RANK=-1: a whole number of at least 0 is needed");
    CHECK(read({{"RANK", "one"}, {"WORLD_SIZE", "4"}}, &l) ==
          "RANK=one: a whole number of at least 0 is needed");
    CHECK(read({{"RANK", "0"}, {"WORLD_SIZE", "0"}}, &l) ==
          "WORLD_SIZE=0: a whole number of at least 1 is needed");
    CHECK(read({{"PMI_RANK", "0"}, {"PMI_SIZE", "4"}}, &l) ==
          "PMI: PMI_RANK=0, PMI_SIZE=4, but neither PMI_FD nor PMI_PORT is set: no mpiexec started "
          "this process");
    CHECK(read({{"PMI_RANK", "0"}, {"PMI_SIZE", "4"}, {"PMI_FD", "0"}}, &l) ==
          "PMI: PMI_RANK=0, PMI_SIZE=4, but PMI_FD=0 is no socket to an mpiexec");
    CHECK(read({{"RANK", "0"}, {"WORLD_SIZE", "4"}, {"LOCAL_WORLD_SIZE", "2"}}, &l) ==
          "torchrun: RANK=0, WORLD_SIZE=4, LOCAL_WORLD_SIZE=2: the ranks are on several hosts; "
          "stretto_comm_from_env is for one "
          "host, use stretto_comm_from_mpi");
    CHECK(read({{"SLURM_PROCID", "0"}, {"SLURM_NTASKS", "4"}, {"SLURM_NNODES", "2"}}, &l) ==
          "Slurm: SLURM_PROCID=0, SLURM_NTASKS=4, SLURM_NNODES=2: the ranks are on several hosts; "
          "stretto_comm_from_env is for one "
          "host, use stretto_comm_from_mpi");
}

TEST_CASE("environment: ranks that meet by it") {
    std::string port = std::to_string(getpid());  // tests may run at the same time
    check_job({{{"RANK", "0"}, {"WORLD_SIZE", "3"}, {"MASTER_PORT", port}},
               {{"RANK", "1"}, {"WORLD_SIZE", "3"}, {"MASTER_PORT", port}},
               {{"RANK", "2"}, {"WORLD_SIZE", "3"}, {"MASTER_PORT", port}}});
    check_job({{{"SLURM_PROCID", "0"},
                {"SLURM_NTASKS", "2"},
                {"SLURM_JOB_ID", port},
                {"SLURM_STEP_ID", "0"}},
               {{"SLURM_PROCID", "1"},
                {"SLURM_NTASKS", "2"},
                {"SLURM_JOB_ID", port},
                {"SLURM_STEP_ID", "0"}}});
    check_job({{{"PMI_RANK", "0"}, {"PMI_SIZE", "1"}}});
    check_job({{}});
}

TEST_CASE("environment: peers that do not come, come twice, or count otherwise") {
    std::string job = std::to_string(getpid());
    auto start = [&](Environment e, const char *timeout = "60") {
        e.push_back({"STRETTO_TIMEOUT", timeout});
        return std::make_unique<Child>(std::vector<std::string>{RANK_PROGRAM, "hello"}, only(e));
    };
    auto line_of = [](Child &c) {
        std::string line;
        CHECK(c.line(&line));
        CHECK(c.wait() == 1);
        return line;
    };
    std::string where = "is each a process on this host that makes the same communicator?";
    auto a = start({{"SLURM_PROCID", "0"}, {"SLURM_NTASKS", "4"}, {"SLURM_JOB_ID", job + "a"}}, "0.5");
    auto b = start({{"SLURM_PROCID", "3"}, {"SLURM_NTASKS", "4"}, {"SLURM_JOB_ID", job + "b"}}, "0.5");
    CHECK(line_of(*a) ==
          "no communicator: STRETTO_TIMEOUT Slurm: SLURM_PROCID=0, SLURM_NTASKS=4: ranks 1-3 did "
          "not come within 0.5 "
          "s (STRETTO_TIMEOUT); " +
              where);
    CHECK(
        line_of(*b) ==
        "no communicator: STRETTO_TIMEOUT Slurm: SLURM_PROCID=3, SLURM_NTASKS=4: rank 0 did not "
        "come within 0.5 s "
        "(STRETTO_TIMEOUT); is each rank a process on this host that makes the same communicator?");

    auto c = start({{"RANK", "0"}, {"WORLD_SIZE", "2"}, {"MASTER_PORT", job + "c"}});
    auto d = start({{"RANK", "0"}, {"WORLD_SIZE", "2"}, {"MASTER_PORT", job + "c"}});
    std::string refused;  // the second to come
    while (!c->line(&refused, 0.01) && !d->line(&refused, 0.01)) continue;
    CHECK(refused ==
          "no communicator: STRETTO_INVALID torchrun: RANK=0, WORLD_SIZE=2: another process is "
          "rank 0 of this job already");

    auto e = start({{"RANK", "0"}, {"WORLD_SIZE", "2"}, {"MASTER_PORT", job + "e"}});
    auto f = start({{"RANK", "1"}, {"WORLD_SIZE", "3"}, {"MASTER_PORT", job + "e"}});
    std::string told = "rank 1 was told that there are 3 ranks, rank 0 that there are 2";
    CHECK(line_of(*e) ==
          "no communicator: STRETTO_INVALID torchrun: RANK=0, WORLD_SIZE=2: " + told);
    CHECK(line_of(*f) ==
          "no communicator: STRETTO_INVALID torchrun: RANK=1, WORLD_SIZE=3: " + told);

    auto g = start({{"RANK", "0"}, {"WORLD_SIZE", "3"}, {"MASTER_PORT", job + "g"}});
    auto h = start({{"RANK", "1"}, {"WORLD_SIZE", "3"}, {"MASTER_PORT", job + "g"}});
    auto i = start({{"RANK", "1"}, {"WORLD_SIZE", "3"}, {"MASTER_PORT", job + "g"}});
    std::regex twice(
        "no communicator: STRETTO_INVALID torchrun: RANK=[01], WORLD_SIZE=3: two processes "
        "\\([0-9]+ and [0-9]+\\) say that they are rank 1");
    CHECK(std::regex_match(line_of(*g), twice));
    CHECK(std::regex_match(line_of(*h), twice));
    CHECK(std::regex_match(line_of(*i), twice));
}
