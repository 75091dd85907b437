#include <stretto/mpi.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "collectives/base/clock.h"
#include "collectives/base/cores.h"
#include "collectives/base/error.h"
#include "collectives/base/hash.h"
#include "collectives/base/tuning.h"
#include "collectives/comm/comm.h"
#include "collectives/transport/message_transport.h"

namespace stretto::runtime {
namespace {

// A message of more than 4 KiB is announced first and then fetched by a system call (Open MPI on one host): up to
// fetched_message_bytes pieces that are not take less time.
constexpr uint64_t eager_bytes = 4000;

// Of STRETTO_TIMEOUT, and seconds: for cancelled operations of one rank to end.
constexpr double cancel_part = 0.125, cancel_patience = 0.5;

int set_mpi_error(const char *what, int code) {
    char text[MPI_MAX_ERROR_STRING] = "";
    int length = 0;
    MPI_Error_string(code, text, &length);
    return set_error(STRETTO_SYSTEM, "%s: %s", what, text);
}

// One message of an algorithm: an MPI message a piece (counts are int), in order, cut alike on both sides.
class MpiOperation final : public Operation {
public:
    MpiOperation(MPI_Comm comm, int peer, bool sends, int tag, char *data, uint64_t bytes, uint64_t *length,
                 uint64_t largest_piece, std::optional<Deadline> *cancelling, double patience)
        : Operation(peer, sends, data, bytes), length_(length), cancelling_(cancelling), patience_(patience) {
        int other = peer == any_peer ? MPI_ANY_SOURCE : peer;
        for (uint64_t begin = 0; begin < bytes || begin == 0; begin += largest_piece) {
            int count = int(std::min(bytes - begin, largest_piece));
            MPI_Request request = MPI_REQUEST_NULL;
            int code = sends ? MPI_Isend(data + begin, count, MPI_BYTE, other, tag, comm, &request)
                             : MPI_Irecv(data + begin, count, MPI_BYTE, other, tag, comm, &request);
            if (code != MPI_SUCCESS) {
                code_ = code;
                return;
            }
            if (begin == 0) first_ = {request, count};
            else more_.push_back({request, count});
        }
    }

    bool end() override {
        if (done()) return true;
        int finalized = 0;
        MPI_Finalized(&finalized);
        if (finalized) return true;
        if (!*cancelling_) cancelling_->emplace(patience_);
        for_each([&](Piece &p) {
            if (p.request != MPI_REQUEST_NULL && !sends) MPI_Cancel(&p.request);
        });
        // A receive that has begun cannot be cancelled, a send never: some time to end.
        while (!done()) {
            for_each([](Piece &p) {
                int flag = 0;
                if (p.request != MPI_REQUEST_NULL && MPI_Test(&p.request, &flag, MPI_STATUS_IGNORE) != MPI_SUCCESS) {
                    p.request = MPI_REQUEST_NULL;
                }
            });
            if (!done() && (*cancelling_)->passed()) return false;
            if (!done()) sleep_microseconds(50);
        }
        return true;
    }

    State test() override {
        State state = test(first_);
        for (size_t i = 0; state == Done && i < more_.size(); i++) state = test(more_[i]);
        if (state != Done || code_ == MPI_SUCCESS) return state;
        set_mpi_error(sends ? "MPI_Isend" : "MPI_Irecv", code_);
        return Failed;
    }

private:
    struct Piece {
        MPI_Request request = MPI_REQUEST_NULL;
        int count = 0;
    };

    State test(Piece &p) {
        if (p.request == MPI_REQUEST_NULL || code_ != MPI_SUCCESS) return Done;
        int flag = 0, count = p.count;
        MPI_Status status;
        code_ = MPI_Test(&p.request, &flag, &status);
        if (code_ != MPI_SUCCESS) {
            p.request = MPI_REQUEST_NULL;
            return Done;
        }
        if (!flag) return Pending;
        if (!sends) MPI_Get_count(&status, MPI_BYTE, &count);
        if (length_) *length_ = uint64_t(count);  // a longer one MPI refuses
        if (length_ || count == p.count) return Done;
        set_error(STRETTO_SYSTEM, "%d bytes were sent where %d are expected", count, p.count);
        return Failed;
    }
    template <class F>
    void for_each(F f) {
        f(first_);
        for (Piece &p : more_) f(p);
    }
    bool done() {
        bool all = true;
        for_each([&](Piece &p) { all &= p.request == MPI_REQUEST_NULL; });
        return all;
    }

    Piece first_;  // most messages have no other, and need no memory for it
    std::vector<Piece> more_;
    int code_ = MPI_SUCCESS;
    uint64_t *const length_;
    std::optional<Deadline> *const cancelling_;  // of all that this rank cancels
    const double patience_;
};

class MpiNetwork final : public Network {
public:
    // Takes over the communicator.
    MpiNetwork(MPI_Comm own, const Settings &settings) : comm_(own), settings_(settings) {
        MPI_Comm_set_errhandler(comm_, MPI_ERRORS_RETURN);
        MPI_Comm_rank(comm_, &rank_);
        MPI_Comm_size(comm_, &ranks_);
    }
    ~MpiNetwork() override {
        int finalized = 0;
        MPI_Finalized(&finalized);
        // Freeing is collective, and after a failure there may be nobody to do it with.
        if (!finalized && !abandoned_) MPI_Comm_free(&comm_);
    }

    int rank() const override { return rank_; }
    int ranks() const override { return ranks_; }
    Operation *start_send(int peer, int tag, const void *data, uint64_t bytes) override {
        auto *from = const_cast<char *>(static_cast<const char *>(data));
        return start(peer, true, tag, from, bytes, nullptr);
    }
    Operation *start_receive(int peer, int tag, void *data, uint64_t bytes, uint64_t *length) override {
        static_assert(short_bytes <= eager_bytes, "a message of unknown length is one piece");
        return start(peer, false, tag, static_cast<char *>(data), bytes, length);
    }
    std::shared_ptr<Network> sub(const std::vector<int> &ranks, uint64_t) override {
        MPI_Group all, group;
        MPI_Comm made = MPI_COMM_NULL;
        int code = MPI_Comm_group(comm_, &all);
        if (code == MPI_SUCCESS) {
            code = MPI_Group_incl(all, int(ranks.size()), ranks.data(), &group);
            MPI_Group_free(&all);
        }
        if (code == MPI_SUCCESS) {
            code = MPI_Comm_create_group(comm_, group, sub_tag, &made);
            MPI_Group_free(&group);
        }
        if (code == MPI_SUCCESS) return std::make_shared<MpiNetwork>(made, settings_);
        set_mpi_error("MPI_Comm_create_group", code);
        return nullptr;
    }
    void abandon() override { abandoned_ = true; }

private:
    Operation *start(int peer, bool sends, int tag, char *data, uint64_t bytes, uint64_t *length) {
        const uint64_t most = settings_.largest_piece;
        const uint64_t piece = bytes <= fetched_message_bytes ? std::min(eager_bytes, most) : most;
        return new MpiOperation(comm_, peer, sends, tag, data, bytes, length, piece, &cancelling_,
                                std::min(cancel_patience, cancel_part * settings_.timeout));
    }
    MPI_Comm comm_;
    const Settings settings_;
    int rank_ = 0, ranks_ = 1;
    bool abandoned_ = false;
    std::optional<Deadline> cancelling_;
};

// What ranks tell each other when they make the first communicator. Until then nothing else is under way on it.
struct Card {
    int32_t status = 0;  // a bad STRETTO_TIMEOUT on one rank must not leave the others waiting: the verdict is everybody's
    uint64_t host = 0;
    cpu_set_t cores = {};
};

// What MPI may still write to when it is given up, and then stays.
struct Beginning {
    Card mine;
    std::vector<Card> all;
    MPI_Comm own = MPI_COMM_NULL;
    MPI_Request request = MPI_REQUEST_NULL;
};

uint64_t host_of_this() {
    char name[MPI_MAX_PROCESSOR_NAME] = "";
    int length = 0;
    MPI_Get_processor_name(name, &length);
    return hash_bytes(name, size_t(length));
}

// MPI's own collective calls would wait for ever, at full load.
int wait(MPI_Request *request, Deadline &deadline, const Settings &settings, const char *what) {
    for (const double begin = seconds_now();;) {
        int done = 0, code = MPI_Test(request, &done, MPI_STATUS_IGNORE);
        if (code != MPI_SUCCESS) return set_mpi_error(what, code);
        if (done) return STRETTO_OK;
        if (deadline.passed()) {
            return set_error(STRETTO_TIMEOUT,
                             "stretto_comm_from_mpi: not all ranks of the MPI communicator have called it within %g s "
                             "(STRETTO_TIMEOUT)",
                             settings.timeout);
        }
        sleep_in_proportion(seconds_now() - begin);
    }
}

int begin(MPI_Comm mpi, const Settings &settings, Beginning *b) {
    Deadline deadline(settings.timeout);
    int code = MPI_Comm_idup(mpi, &b->own, &b->request);
    if (code != MPI_SUCCESS) return set_mpi_error("MPI_Comm_idup", code);
    if (int status = wait(&b->request, deadline, settings, "MPI_Comm_idup")) return status;
    int ranks = 1;
    MPI_Comm_size(b->own, &ranks);
    b->all.resize(size_t(ranks));
    const int bytes = int(sizeof(Card));
    code = MPI_Iallgather(&b->mine, bytes, MPI_BYTE, b->all.data(), bytes, MPI_BYTE, b->own, &b->request);
    if (code != MPI_SUCCESS) return set_mpi_error("MPI_Iallgather", code);
    return wait(&b->request, deadline, settings, "MPI_Iallgather");
}

// Has each rank of this host a core of its own? Launchers bind ranks to cores, so all ranks' masks count together.
bool cores_suffice(const Beginning &b) {
    cpu_set_t cores;
    CPU_ZERO(&cores);
    int ranks = 0;
    for (const Card &c : b.all) {
        if (c.host != b.mine.host) continue;
        CPU_OR(&cores, &cores, &c.cores);
        ranks++;
    }
    return ranks <= usable_cores(cores);
}

}  // namespace
}  // namespace stretto::runtime

using namespace stretto::runtime;

extern "C" int stretto_comm_from_mpi(MPI_Comm mpi, stretto_comm_t **comm) {
    if (!comm) return set_error(STRETTO_INVALID, "stretto_comm_from_mpi: comm is null");
    int initialized = 0, finalized = 0;
    MPI_Initialized(&initialized);
    MPI_Finalized(&finalized);
    if (!initialized || finalized) {
        return set_error(STRETTO_INVALID, "stretto_comm_from_mpi: called %s",
                         finalized ? "after MPI_Finalize" : "before MPI_Init");
    }
    if (mpi == MPI_COMM_NULL)
        return set_error(STRETTO_INVALID, "stretto_comm_from_mpi: the communicator is MPI_COMM_NULL");
    Settings settings;
    const int status = read_settings(&settings);
    const std::string text = status ? last_error() : "";
    auto beginning = std::make_unique<Beginning>();
    beginning->mine.status = status;
    beginning->mine.host = host_of_this();
    beginning->mine.cores = allowed_cores();
    if (int failed = begin(mpi, settings, beginning.get())) {
        beginning.release();  // it is MPI's
        return failed;
    }
    auto network = std::make_shared<MpiNetwork>(beginning->own, settings);
    if (status) return set_error_text(status, text);
    for (const Card &c : beginning->all) {
        if (c.status)
            return set_error(STRETTO_INVALID,
                             "stretto_comm_from_mpi: another rank's environment is wrong; its text says how");
    }
    auto world = std::make_shared<MessageWorld>(std::move(network), settings, cores_suffice(*beginning));
    *comm = new stretto_comm_t(std::make_unique<MessageTransport>(std::move(world)));
    return STRETTO_OK;
}
