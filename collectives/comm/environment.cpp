#include "collectives/comm/environment.h"

#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cinttypes>
#include <climits>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <initializer_list>
#include <sstream>

#include <stretto/runtime.h>
#include "collectives/base/error.h"
#include "collectives/base/hash.h"

namespace stretto::runtime {
namespace {

// What a launcher calls its variables. Of each list the first that is set counts.
struct Convention {
    const char *name;
    std::initializer_list<const char *> rank, ranks;    // no `ranks`: the launcher does not say
    std::initializer_list<const char *> ranks_on_host;  // if set and not `ranks`: several hosts
    std::initializer_list<const char *> hosts;          // if set and not 1: several hosts
    std::initializer_list<const char *> job;            // one of them at least says which of the host's jobs this is ...
    std::initializer_list<const char *> part;           // ... and these, which part of it
};

// In this order: mpirun under Slurm leaves Slurm's variables as they are, torchrun under mpirun none of its own, Flux sets
// PMI's beside its own, and others those of PMIx. PALS has the number of ranks from PMI.
const Convention conventions[] = {
    {"stretto_run", {"STRETTO_RANK"}, {"STRETTO_RANKS"}, {}, {}, {"STRETTO_JOB"}, {}},
    {"Open MPI",
     {"OMPI_COMM_WORLD_RANK"},
     {"OMPI_COMM_WORLD_SIZE"},
     {"OMPI_COMM_WORLD_LOCAL_SIZE"},
     {},
     {"OMPI_MCA_ess_base_jobid", "PMIX_NAMESPACE", "OMPI_MCA_orte_precondition_transports"},
     {}},
    {"torchrun",
     {"RANK"},
     {"WORLD_SIZE"},
     {"LOCAL_WORLD_SIZE"},
     {},
     {"MASTER_PORT", "TORCHELASTIC_RUN_ID"},
     {"MASTER_ADDR", "TORCHELASTIC_RESTART_COUNT"}},
    {"Flux", {"FLUX_TASK_RANK"}, {"FLUX_JOB_SIZE"}, {}, {"FLUX_JOB_NNODES"}, {"FLUX_JOB_ID"}, {"FLUX_URI"}},
    {"PMI",
     {"PMI_RANK", "PALS_RANKID"},
     {"PMI_SIZE"},
     {"MPI_LOCALNRANKS", "PMI_LOCAL_SIZE"},
     {},
     {"PMI_JOBID", "PMI_PORT", "PMI_KVS", "PALS_APID"},
     {}},
    {"Slurm",
     {"SLURM_PROCID"},
     {"SLURM_STEP_NUM_TASKS", "SLURM_NTASKS"},
     {},
     {"SLURM_STEP_NUM_NODES", "SLURM_NNODES"},
     {"SLURM_JOB_ID"},
     {"SLURM_STEP_ID"}},
    {"PMIx", {"PMIX_RANK"}, {}, {}, {}, {"PMIX_NAMESPACE"}, {}},
};

struct Variable {
    const char *name = nullptr, *value = nullptr;
    explicit operator bool() const { return value; }
};

Variable first_set(std::initializer_list<const char *> names) {
    for (const char *name : names) {
        if (const char *value = getenv(name)) return {name, value};
    }
    return {};
}

int parse(const Variable &v, long least, long *result) {
    char *end = nullptr;
    errno = 0;
    *result = strtol(v.value, &end, 10);
    if (end != v.value && !*end && !errno && *result >= least && *result < INT_MAX) return STRETTO_OK;
    return set_error(STRETTO_INVALID, "%s=%s: a whole number of at least %ld is needed", v.name, v.value, least);
}

// Field 22 of /proc/PID/stat: a process number alone may be used again.
std::string start_time(int pid) {
    std::ifstream file("/proc/" + std::to_string(pid) + "/stat");
    std::string all((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
    size_t after_name = all.rfind(')');
    if (after_name == std::string::npos) return "";
    std::istringstream fields(all.substr(after_name + 1));
    std::string field;
    for (int i = 3; i <= 22; i++) fields >> field;
    return field;
}

// Ranks of two jobs must not meet.
int read_job(const Convention &c, Launch *launch) {
    for (auto *names : {&c.job, &c.part})
        for (const char *name : *names)
            if (const char *value = getenv(name)) launch->job += std::string(name) + "=" + value + "\n";
    if (!first_set(c.job) && launch->ranks > 1) {
        std::string names;
        for (const char *name : c.job) names += std::string(names.empty() ? "" : " or ") + name;
        return set_error(STRETTO_INVALID,
                         "%s, but %s is not set, which would say which job of this host that is: set it alike on all ranks, or "
                         "start them with stretto_run",
                         launch->origin.c_str(), names.c_str());
    }
    return STRETTO_OK;
}

// MPICH's mpiexec names nothing that is unique to the job, but holds the other end of the socket PMI_FD of each rank.
int pmi_job(const Convention &c, Launch *launch) {
    const int named = read_job(c, launch);
    Variable fd_variable = first_set({"PMI_FD"});
    if (!fd_variable && named)
        return set_error(STRETTO_INVALID, "%s, but neither PMI_FD nor PMI_PORT is set: no mpiexec started this process",
                         launch->origin.c_str());
    if (!fd_variable) return STRETTO_OK;
    long fd;
    if (int status = parse(fd_variable, 0, &fd)) return status;
    ucred server{};
    socklen_t length = sizeof server;
    if (getsockopt(int(fd), SOL_SOCKET, SO_PEERCRED, &server, &length) != 0) {
        if (launch->ranks == 1) return STRETTO_OK;
        return set_error(STRETTO_INVALID, "%s, but PMI_FD=%s is no socket to an mpiexec", launch->origin.c_str(),
                         fd_variable.value);
    }
    launch->job += "server " + std::to_string(server.pid) + " " + start_time(server.pid);
    return STRETTO_OK;
}

int several_hosts(const Launch &launch, const Variable &v) {
    return set_error(STRETTO_INVALID,
                     "%s, %s=%s: the ranks are on several hosts; stretto_comm_from_env is for one host, "
                     "use stretto_comm_from_mpi",
                     launch.origin.c_str(), v.name, v.value);
}

int read(const Convention &c, const Variable &rank, const Variable &ranks, Launch *launch) {
    if (!c.ranks.size()) {
        return set_error(STRETTO_INVALID,
                         "%s=%s is set, as %s does, and nothing that says how many ranks there are: use stretto_comm_create "
                         "or stretto_comm_from_mpi, or set RANK, WORLD_SIZE and MASTER_PORT",
                         rank.name, rank.value, c.name);
    }
    const char *missing = !rank ? *c.rank.begin() : *(c.ranks.end() - 1), *set = rank ? rank.name : ranks.name;
    long r = 0, n = 0;
    if (ranks) {
        if (int status = parse(ranks, 1, &n)) return status;
    }
    // An allocation of one task without a step is one rank; with more, the ranks were not started.
    bool single = !rank && n == 1;
    if (!single && (!rank || !ranks)) {
        return set_error(STRETTO_INVALID,
                         "%s=%s is set but %s is not: set both, as %s does, or neither to run as one rank", set,
                         rank ? rank.value : ranks.value, missing, c.name);
    }
    if (rank) {
        if (int status = parse(rank, 0, &r)) return status;
    }
    launch->launcher = c.name;
    launch->origin = std::string(c.name) + ": " + (rank ? std::string(rank.name) + "=" + rank.value + ", " : "") +
                     ranks.name + "=" + ranks.value;
    if (r >= n) {
        return set_error(STRETTO_INVALID, "%s: %s must be less than %s", launch->origin.c_str(), rank.name, ranks.name);
    }
    launch->rank = int(r);
    launch->ranks = int(n);
    if (Variable local = first_set(c.ranks_on_host)) {
        long here;
        if (int status = parse(local, 1, &here)) return status;
        if (here < n) return several_hosts(*launch, local);
    }
    if (Variable hosts = first_set(c.hosts)) {
        long count;
        if (int status = parse(hosts, 1, &count)) return status;
        if (count > 1) return several_hosts(*launch, hosts);
    }
    return c.name == std::string("PMI") ? pmi_job(c, launch) : read_job(c, launch);
}

}  // namespace

std::string public_name(const Launch &launch, unsigned number) {
    const std::string key =
        launch.launcher + "\n" + launch.job + "user " + std::to_string(geteuid()) + "\nnumber " + std::to_string(number);
    const uint64_t token[2] = {hash_bytes(key.data(), key.size(), 1), hash_bytes(key.data(), key.size(), 2)};
    return socket_name(token);
}

std::string socket_name(const uint64_t token[2]) {
    char name[48];
    snprintf(name, sizeof name, "stretto-%016" PRIx64 "%016" PRIx64, token[0], token[1]);
    return name;
}

int read_launch(Launch *launch) {
    for (const Convention &c : conventions) {
        Variable rank = first_set(c.rank), ranks = first_set(c.ranks);
        if (rank || ranks) return read(c, rank, ranks, launch);
    }
    launch->origin = "alone";
    return STRETTO_OK;
}

}  // namespace stretto::runtime
