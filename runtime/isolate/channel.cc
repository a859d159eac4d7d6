// SPDX-License-Identifier: Apache-2.0
#include "runtime/isolate/channel.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "byoc/base/file.h"
#include "byoc/base/memory.h"

namespace byoc::isolate {
namespace {

constexpr size_t kAlignment = 64;
constexpr uint64_t kLargestInline = 64 << 10, kMostBytes = uint64_t{1} << 46;

/// The head of a message. The bytes follow, or are in the file that came with the head.
struct Head {
  uint64_t size = 0, is_file = 0;
};

Status broken(const char* what) {
  return system_error("cannot", what, errno).with_slug("isolation");
}

Status gone() { return Status(Code::kUnavailable, "the process has ended"); }

/// Room for one descriptor beside a message, see cmsg(3).
union Control {
  cmsghdr align;
  char bytes[CMSG_SPACE(sizeof(int))];
};

bool send_head(int fd, const Head& head, int file) {
  iovec part{const_cast<Head*>(&head), sizeof head};
  Control control{};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  if (file >= 0) {
    message.msg_control = control.bytes;
    message.msg_controllen = sizeof control.bytes;
    cmsghdr* header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(sizeof file);
    std::memcpy(CMSG_DATA(header), &file, sizeof file);
  }
  ssize_t sent;
  do sent = ::sendmsg(fd, &message, MSG_NOSIGNAL);
  while (sent < 0 && errno == EINTR);
  return sent == sizeof head;
}

bool send_bytes(int fd, std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t n = ::send(fd, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    bytes = bytes.subspan(static_cast<size_t>(n));
  }
  return true;
}

/// Closes a descriptor.
struct File {
  int fd = -1;
  File() = default;
  explicit File(int fd) : fd(fd) {}
  File(const File&) = delete;
  File& operator=(const File&) = delete;
  ~File() {
    if (fd >= 0) ::close(fd);
  }
};

/// Reads a head; `file` gets the descriptor that came with it.
Result<Head> receive_head(int fd, File& file) {
  Head head;
  iovec part{&head, sizeof head};
  Control control{};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = control.bytes;
  message.msg_controllen = sizeof control.bytes;
  ssize_t n;
  do n = ::recvmsg(fd, &message, MSG_CMSG_CLOEXEC | MSG_WAITALL);
  while (n < 0 && errno == EINTR);
  const cmsghdr* header = CMSG_FIRSTHDR(&message);
  if (n >= 0 && header != nullptr && header->cmsg_type == SCM_RIGHTS)
    std::memcpy(&file.fd, CMSG_DATA(header), sizeof file.fd);
  if (n == 0 || (n < 0 && errno == ECONNRESET)) return gone();
  if (n != sizeof head || head.size > kMostBytes || (head.is_file != 0) != (file.fd >= 0))
    return data_loss("the process sent bytes that are no message");
  return head;
}

Result<Message> receive_inline(int fd, uint64_t size) {
  if (size > kLargestInline) return data_loss("the process sent bytes that are no message");
  std::shared_ptr<std::byte> memory(static_cast<std::byte*>(aligned_memory(size, kAlignment)),
                                    std::free);
  if (!memory) return Status(Code::kResourceExhausted, "no memory for a message");
  for (size_t at = 0; at < size;) {
    const ssize_t n = ::recv(fd, memory.get() + at, size - at, 0);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return gone();
    at += static_cast<size_t>(n);
  }
  return Message{{memory.get(), size}, memory};
}

/// Maps the file of a message. Seals keep the sender from changing it afterwards.
Result<Message> map_file(const File& file, uint64_t size) {
  struct stat info {};
  const bool is_sealed =
      ::fcntl(file.fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE) == 0;
  if (!is_sealed || ::fstat(file.fd, &info) != 0 || static_cast<uint64_t>(info.st_size) != size)
    return data_loss("the process sent a file that is no message");
  void* memory = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file.fd, 0);
  if (memory == MAP_FAILED) return broken("map a message");
  std::shared_ptr<const void> owner(memory, [size](void* from) { ::munmap(from, size); });
  return Message{{static_cast<const std::byte*>(memory), size}, std::move(owner)};
}

}  // namespace

Channel::Channel(Channel&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
Channel& Channel::operator=(Channel&& other) noexcept {
  std::swap(fd_, other.fd_);
  return *this;
}
Channel::~Channel() {
  if (fd_ >= 0) ::close(fd_);
}

Status Channel::send(const Writer& message) {
  const Head head{message.size(), message.size() > kLargestInline};
  File file;
  if (head.is_file != 0) {
    file.fd = ::memfd_create("byoc-message", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (file.fd < 0) return broken("make a file in memory");
    for (const auto piece : message.pieces())
      if (!write_all(file.fd, piece)) return broken("write a message");
  }
  if (!send_head(fd_, head, file.fd)) return gone();
  if (head.is_file != 0) return {};
  for (const auto piece : message.pieces())
    if (!send_bytes(fd_, piece)) return gone();
  return {};
}

Result<Message> Channel::receive() {
  File file;
  BYOC_TRY(const Head head, receive_head(fd_, file));
  return head.is_file != 0 ? map_file(file, head.size) : receive_inline(fd_, head.size);
}

}  // namespace byoc::isolate
