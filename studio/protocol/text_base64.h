// Bytes as text (RFC 4648), for pictures in HTML and files in frames.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace ipex_studio {

std::string toBase64(std::string_view bytes);
// The bytes of a text; nullopt if it is no base64 with its padding.
std::optional<std::string> fromBase64(std::string_view text);

}  // namespace ipex_studio
