#include <stretto/mpi.h>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "collectives/base/clock.h"
#include "collectives/base/cores.h"
#include "collectives/base/error.h"
#include "collectives/base/tuning.h"
#include "collectives/comm/comm.h"
#include "collectives/transport/message_transport.h"

namespace stretto::runtime {
namespace {

// A message of more than 4 KiB is announced first and then fetched by a system call (Open MPI on one host): up to
// fetched_message_bytes pieces that are not take less time.
constexpr uint64_t eager_bytes = 4000;

constexpr double cancel_patience = 0.5;  // seconds for cancelled operations of one rank to end

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
                 uint64_t largest_piece, double *cancel_until)
        : Operation(peer, sends), length_(length), cancel_until_(cancel_until) {
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

    ~MpiOperation() override {
        if (done()) return;
        int finalized = 0;
        MPI_Finalized(&finalized);
        if (finalized) return;
        double now = seconds_now();
        if (*cancel_until_ == 0) *cancel_until_ = now + cancel_patience;
        for_each([&](Piece &p) {
            if (p.request != MPI_REQUEST_NULL && !sends) MPI_Cancel(&p.request);
        });
        // A receive that has begun cannot be cancelled, a send never: some time to end, then they are MPI's.
        while (!done()) {
            for_each([](Piece &p) {
                int flag = 0;
                if (p.request != MPI_REQUEST_NULL && MPI_Test(&p.request, &flag, MPI_STATUS_IGNORE) != MPI_SUCCESS) {
                    p.request = MPI_REQUEST_NULL;
                }
            });
            if (done()) return;
            if (seconds_now() > *cancel_until_) break;
            sleep_microseconds(50);
        }
        for_each([](Piece &p) {
            if (p.request != MPI_REQUEST_NULL) MPI_Request_free(&p.request);
        });
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
    double *const cancel_until_;
};

class MpiNetwork final : public Network {
public:
    // Takes over the communicator.
    MpiNetwork(MPI_Comm own, uint64_t largest_piece) : comm_(own), largest_piece_(largest_piece) {
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
        return new MpiOperation(comm_, peer, true, tag, from, bytes, nullptr, piece(bytes), &cancel_until_);
    }
    Operation *start_receive(int peer, int tag, void *data, uint64_t bytes, uint64_t *length) override {
        static_assert(short_bytes <= eager_bytes, "a message of unknown length is one piece");
        return new MpiOperation(comm_, peer, false, tag, static_cast<char *>(data), bytes, length, piece(bytes),
                                &cancel_until_);
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
        if (code == MPI_SUCCESS) return std::make_shared<MpiNetwork>(made, largest_piece_);
        set_mpi_error("MPI_Comm_create_group", code);
        return nullptr;
    }
    void abandon() override { abandoned_ = true; }

private:
    uint64_t piece(uint64_t bytes) const {
        return bytes <= fetched_message_bytes ? std::min(eager_bytes, largest_piece_) : largest_piece_;
    }
    MPI_Comm comm_;
    const uint64_t largest_piece_;
    int rank_ = 0, ranks_ = 1;
    bool abandoned_ = false;
    double cancel_until_ = 0;
};

// Has each rank of this host a core of its own? Launchers bind ranks to cores, so all ranks' masks count together.
int cores_suffice(MPI_Comm comm, bool *result) {
    MPI_Comm host;
    int code = MPI_Comm_split_type(comm, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &host);
    if (code != MPI_SUCCESS) return set_mpi_error("MPI_Comm_split_type", code);
    cpu_set_t mine = allowed_cores(), all;
    code = MPI_Allreduce(&mine, &all, int(sizeof mine), MPI_BYTE, MPI_BOR, host);
    int ranks = 1;
    MPI_Comm_size(host, &ranks);
    MPI_Comm_free(&host);
    if (code != MPI_SUCCESS) return set_mpi_error("MPI_Allreduce", code);
    *result = ranks <= usable_cores(all);
    return STRETTO_OK;
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
    // A bad STRETTO_TIMEOUT on one rank must not leave the others in MPI_Comm_dup: the verdict is everybody's.
    Settings settings;
    int status = read_settings(&settings), worst = 0, bad = status != 0;
    std::string text = status ? last_error() : "";
    int code = MPI_Allreduce(&bad, &worst, 1, MPI_INT, MPI_MAX, mpi);
    if (code != MPI_SUCCESS) return set_mpi_error("MPI_Allreduce", code);
    if (status) return set_error_text(status, text);
    if (worst)
        return set_error(STRETTO_INVALID,
                         "stretto_comm_from_mpi: another rank's environment is wrong; its text says how");
    MPI_Comm own;
    code = MPI_Comm_dup(mpi, &own);
    if (code != MPI_SUCCESS) return set_mpi_error("MPI_Comm_dup", code);
    auto network = std::make_shared<MpiNetwork>(own, settings.largest_piece);
    bool spin = false;
    if (int failed = cores_suffice(own, &spin)) return failed;
    auto world = std::make_shared<MessageWorld>(std::move(network), settings, spin);
    *comm = new stretto_comm_t(std::make_unique<MessageTransport>(std::move(world)));
    return STRETTO_OK;
}
