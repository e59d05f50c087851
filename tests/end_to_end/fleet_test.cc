// A Prometheus server that scrapes the daemon knows what `tpctl table` says; and what docs/fleet
// holds is understood by its tools. Where there is no Prometheus, this is skipped.

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <regex>
#include <set>
#include <string>

#include "tests/end_to_end/known_work.h"
#include "tests/end_to_end/sandbox.h"

namespace tp::test {
namespace {

const std::string kFleet = "docs/fleet/";

std::string FreePort() {
  const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t length = sizeof(address);
  EXPECT_EQ(bind(fd, reinterpret_cast<const sockaddr*>(&address), length), 0);
  EXPECT_EQ(getsockname(fd, reinterpret_cast<sockaddr*>(&address), &length), 0);
  close(fd);
  return std::to_string(ntohs(address.sin_port));
}

class Fleet : public testing::Test {
 protected:
  void SetUp() override {
    if (Shell("command -v prometheus && command -v promtool").status != 0) {
      GTEST_SKIP() << "there is no Prometheus here (Debian's package prometheus)";
    }
  }

  Result Shell(const std::string& command) {
    return sandbox_.Run({"/bin/bash", "-c", command}, sandbox_.Untraced());
  }

  void StartDaemon() { sandbox_.StartDaemon({"--metrics", "127.0.0.1:" + port_}); }

  // The page itself, as a file.
  std::string Fetch() {
    const std::string path = sandbox_.folder() + "/page";
    const Result fetched =
        Shell("exec 3<>/dev/tcp/127.0.0.1/" + port_ +
              "; printf 'GET /metrics HTTP/1.0\\r\\n\\r\\n' >&3; sed '1,/^\\r$/d' <&3 >" + path);
    EXPECT_EQ(fetched.status, 0) << fetched.err;
    return path;
  }

  // Until the server gives `expression` this value; the last answer otherwise.
  std::string Query(const std::string& expression, const std::string& expected) {
    std::string answer;
    for (int round = 0; round < 100; ++round) {
      const Result asked = Shell("promtool query -o json instant http://127.0.0.1:" + server_port_ +
                                 " '" + expression + "'");
      const Json vector = Json::parse(asked.out, nullptr, false);
      answer = asked.out + asked.err;
      if (vector.is_array() && vector.size() == 1) answer = vector[0]["value"][1];
      if (answer == expected) break;
      usleep(200'000);
    }
    return answer;
  }

  Sandbox sandbox_;
  const std::string port_ = FreePort();
  const std::string server_port_ = FreePort();
};

TEST_F(Fleet, PrometheusKnowsWhatTheTableSays) {
  StartDaemon();
  Program program = sandbox_.Start(
      {Sandbox::Built(kKnownWork), "--threads", "4", "--iterations", "50"}, sandbox_.Traced());
  const Result done = program.Wait();
  ASSERT_EQ(done.status, 0);
  const std::string pid = std::to_string(program.pid());
  ExpectExact(sandbox_, program.pid(), Json::parse(done.out));

  std::ofstream(sandbox_.folder() + "/prometheus.yml")
      << "global: {scrape_interval: 1s, scrape_timeout: 1s}\n"
         "scrape_configs: [{job_name: tensorprof, static_configs: [{targets: ['127.0.0.1:"
      << port_ << "']}]}]\n";
  Program server = sandbox_.Start({"/bin/bash", "-c",
                                   "exec prometheus --config.file=" + sandbox_.folder() +
                                       "/prometheus.yml --storage.tsdb.path=" + sandbox_.folder() +
                                       "/data --web.listen-address=127.0.0.1:" + server_port_},
                                  sandbox_.Untraced());

  // With the digits that a double keeps: all of these are short.
  const auto seconds = [](int64_t ns) { return Json(static_cast<double>(ns) / 1e9).dump(); };
  const Json kernels = sandbox_.Table({"--view", "kernels", "--pid", pid});
  int64_t count = 0, time_ns = 0;
  for (const Json& row : kernels["rows"]) {
    if (row["kind"] != "k") continue;
    count += row["count"].get<int64_t>();
    time_ns += row["total_ns"].get<int64_t>();
  }
  ASSERT_GT(count, 0) << kernels;
  const std::string of = "{pid=\"" + pid + "\"}";
  EXPECT_EQ(Query("tensorprof_kernels_total" + of, std::to_string(count)), std::to_string(count))
      << server.Err();
  EXPECT_EQ(Query("tensorprof_kernel_seconds_total" + of, seconds(time_ns)), seconds(time_ns));

  int64_t bytes = 0;
  const Json copies = sandbox_.Table({"--view", "copies", "--pid", pid});
  for (const Json& row : copies["rows"]) {
    if (row["direction"] == "HtoD") bytes += row["bytes"].get<int64_t>();
  }
  EXPECT_EQ(Query("tensorprof_copy_bytes_total{direction=\"HtoD\",pid=\"" + pid + "\"}",
                  std::to_string(bytes)),
            std::to_string(bytes));

  const Json operations = sandbox_.Table({"--pid", pid});
  int shown = 0;
  for (const Json& row : operations["rows"]) {
    const int64_t ns = row["self_device_time_total_ns"];
    if (ns == 0) continue;
    ++shown;
    EXPECT_EQ(Query("tensorprof_operation_self_device_seconds_total{operation=\"" +
                        row["name"].get<std::string>() + "\",pid=\"" + pid + "\"}",
                    seconds(ns)),
              seconds(ns))
        << row;
  }
  EXPECT_GT(shown, 0) << operations;
  EXPECT_EQ(Query("tensorprof_process_state{state=\"gone\",pid=\"" + pid + "\"}", "1"), "1");
}

TEST_F(Fleet, ItsPageIsAsItShouldBe) {
  StartDaemon();
  ASSERT_EQ(
      sandbox_.Run({Sandbox::Built(kKnownWork), "--iterations", "5"}, sandbox_.Traced()).status, 0);
  const Result checked = Shell("promtool check metrics <" + Fetch());
  EXPECT_EQ(checked.status, 0);
  EXPECT_EQ(checked.out + checked.err, "");
}

TEST_F(Fleet, ItsRulesAndConfigurationAreUnderstood) {
  const Result rules = Shell("promtool check rules " + kFleet + "rules.yml");
  EXPECT_EQ(rules.status, 0) << rules.out << rules.err;
  const Result configuration = Shell("promtool check config " + kFleet + "prometheus.yml");
  EXPECT_EQ(configuration.status, 0) << configuration.out << configuration.err;
}

TEST_F(Fleet, RulesAndDashboardAskForWhatThereIs) {
  StartDaemon();
  ASSERT_EQ(
      sandbox_.Run({Sandbox::Built(kKnownWork), "--iterations", "5"}, sandbox_.Traced()).status, 0);
  std::set<std::string> known;
  std::ifstream page(Fetch());
  for (std::string line; std::getline(page, line);) {
    if (line.rfind("# TYPE ", 0) == 0) known.insert(line.substr(7, line.rfind(' ') - 7));
  }
  EXPECT_GT(known.size(), 20u);
  const std::regex name("tensorprof_[a-z_]+");
  for (const char* file : {"rules.yml", "dashboard.json"}) {
    std::ifstream opened(kFleet + file);
    const std::string text((std::istreambuf_iterator<char>(opened)), {});
    int found = 0;
    for (auto at = std::sregex_iterator(text.begin(), text.end(), name);
         at != std::sregex_iterator(); ++at) {
      ++found;
      EXPECT_EQ(known.count(at->str()), 1u) << file << ": " << at->str();
    }
    EXPECT_GT(found, 3) << file;
  }
  std::ifstream dashboard(kFleet + "dashboard.json");
  EXPECT_FALSE(Json::parse(dashboard, nullptr, false).is_discarded());
}

}  // namespace
}  // namespace tp::test
