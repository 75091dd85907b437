#include "tests/worlds/worlds.h"

#include "collectives/comm/comm.h"
#include "collectives/transport/message_transport.h"
#include "tests/worlds/loopback.h"
#include "tests/worlds/two_hosts.h"

namespace stretto::test {
namespace {

std::vector<Communicator> world_of(int (*make)(int, stretto_comm_t **), int ranks) {
    std::vector<stretto_comm_t *> handles(static_cast<size_t>(ranks));
    check_status(make(ranks, handles.data()));
    return std::vector<Communicator>(handles.begin(), handles.end());
}

}  // namespace

int make_message_comms(int n, stretto_comm_t **comms) {
    runtime::Settings settings;
    if (int status = runtime::read_settings(&settings)) return status;
    for (auto &network : make_loopback(n)) {
        auto world = std::make_shared<runtime::MessageWorld>(network, settings, false);
        *comms++ = new stretto_comm_t(std::make_unique<runtime::MessageTransport>(world));
    }
    return STRETTO_OK;
}

int make_two_host_comms(int n, stretto_comm_t **comms) {
    runtime::Settings settings;
    if (int status = runtime::read_settings(&settings)) return status;
    if (int status = stretto_comm_threads(n, comms)) return status;
    std::vector<Communicator> far = message_world(n);
    for (int r = 0; r < n; r++) {
        auto &near = comms[r]->transport;
        near = make_two_hosts(std::move(near), std::move(far[size_t(r)].get()->transport), settings.timeout);
    }
    return STRETTO_OK;
}

std::vector<Communicator> message_world(int ranks) { return world_of(make_message_comms, ranks); }

std::vector<Communicator> two_host_world(int ranks) { return world_of(make_two_host_comms, ranks); }

}  // namespace stretto::test
