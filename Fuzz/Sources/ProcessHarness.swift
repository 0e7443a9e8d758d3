import UnixIO

/// The files under `/proc` are read or rejected, and the result is contained in them.
///
/// Input: a letter that selects the file, and its content.
enum ProcessHarness {
    static func run(_ input: Span<UInt8>) {
        guard input.count > 1 else { return }
        let bytes = input.array(from: 1)
        switch input[0] {
        case UInt8(ascii: "s"):
            guard let time = ProcessMetadata.startTime(inStat: bytes) else { return }
            let fields = bytes.asText.split(separator: ")", omittingEmptySubsequences: false).last ?? ""
            let plain = fields.split { $0 == " " || $0 == "\n" }.dropFirst(19).first.flatMap { UInt64($0) }
            require(plain == time, "The start time is \(time) instead of \(String(describing: plain))")
        case UInt8(ascii: "c"):
            require(
                ProcessMetadata.command(inComm: bytes).utf8.count <= 3 * bytes.count,
                "A command is longer than the file")
        case UInt8(ascii: "e"):
            require(
                bytes.asText.hasPrefix(ProcessMetadata.executable(inLink: bytes)),
                "An executable is not the beginning of its link")
        case UInt8(ascii: "g"):
            guard let unit = ProcessMetadata.unit(inCgroup: bytes) else { return }
            require(!unit.contains("/") && !unit.contains("\n"), "The unit \(unit) is a path")
            require(unit.unicodeScalars.count <= 255, "A unit's name has \(unit.unicodeScalars.count) characters")
            require(
                bytes.asText.unicodeScalars.count >= unit.unicodeScalars.count, "A unit's name is longer than the file")
        default: return
        }
    }
}
