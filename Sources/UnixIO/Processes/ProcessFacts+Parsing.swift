// The texts under /proc hold names that the process itself has chosen, so
// nothing in them is taken on trust.
extension ProcessFacts {
    /// The 22nd field of `/proc/PID/stat`.
    ///
    /// The second one is the command in parentheses, and may hold spaces and
    /// parentheses itself; the last closing one ends it.
    package static func startTime(inStat stat: [UInt8]) -> UInt64? {
        guard let close = stat.lastIndex(of: UInt8(ascii: ")")) else { return nil }
        let fields = stat[(close + 1)...].split(whereSeparator: { isSpace($0) })
        // What stands behind the parenthesis starts with field 3.
        guard fields.count > 19 else { return nil }
        return number(fields[19])
    }

    /// The content of `/proc/PID/comm`, without the line end the kernel adds.
    package static func command(inComm comm: [UInt8]) -> String {
        let name = comm.last == UInt8(ascii: "\n") ? comm.dropLast() : comm[...]
        return String(decoding: name, as: UTF8.self)
    }

    /// The target of `/proc/PID/exe`, without the mark of a replaced file.
    ///
    /// An application keeps its identity while its package is upgraded.
    package static func executable(inLink link: [UInt8]) -> String {
        let mark = Array(" (deleted)".utf8)
        let path =
            link.count > mark.count && link.suffix(mark.count).elementsEqual(mark)
            ? link.dropLast(mark.count) : link[...]
        return String(decoding: path, as: UTF8.self)
    }

    /// The system's unit in `/proc/PID/cgroup`: from the one line of version 2, or else from systemd's own hierarchy of
    /// version 1.
    ///
    /// As journald's `_SYSTEMD_UNIT=`: the first unit on the path, below slices.
    /// What stands behind it is made by that unit itself: a user's own manager
    /// (`user@1000.service`) can call its units by any name.
    package static func unit(inCgroup cgroup: [UInt8]) -> String? {
        var legacy: String?
        for line in cgroup.split(separator: UInt8(ascii: "\n")) {
            let parts = line.split(separator: UInt8(ascii: ":"), maxSplits: 2, omittingEmptySubsequences: false)
            guard parts.count == 3 else { continue }
            if parts[0].elementsEqual("0".utf8) && parts[1].isEmpty {
                if let unit = unit(inPath: parts[2]) { return unit }
            } else if parts[1].elementsEqual("name=systemd".utf8), legacy == nil {
                legacy = unit(inPath: parts[2])
            }
        }
        return legacy
    }

    private static func unit(inPath path: ArraySlice<UInt8>) -> String? {
        let components = path.split(separator: UInt8(ascii: "/"))
        guard let first = components.first(where: { !hasName($0, endingIn: ".slice") }),
            [".service", ".scope", ".socket", ".mount", ".swap"].contains(where: { hasName(first, endingIn: $0) })
        else { return nil }
        // systemd puts an underscore before a name that the kernel could take
        // for one of its own files.
        return String(decoding: first.first == UInt8(ascii: "_") ? first.dropFirst() : first, as: UTF8.self)
    }

    private static func hasName(_ component: ArraySlice<UInt8>, endingIn suffix: String) -> Bool {
        // systemd allows no longer names than this.
        component.count <= 255 && component.count > suffix.utf8.count
            && component.suffix(suffix.utf8.count).elementsEqual(suffix.utf8)
    }

    private static func isSpace(_ byte: UInt8) -> Bool {
        byte == UInt8(ascii: " ") || byte == UInt8(ascii: "\n")
    }

    private static func number(_ digits: ArraySlice<UInt8>) -> UInt64? {
        guard !digits.isEmpty, digits.allSatisfy({ (0x30...0x39).contains($0) }) else { return nil }
        return UInt64(String(decoding: digits, as: UTF8.self))
    }
}
