/// Escapes in JSON what a terminal would obey, without changing what the JSON means.
package enum TerminalSafeJSON {
    /// DEL and the C1 control characters, which JSON may carry as they are; they only ever stand inside strings.
    package static func escape(_ json: [UInt8]) -> [UInt8] {
        var safe: [UInt8] = []
        safe.reserveCapacity(json.count)
        var index = 0
        while index < json.count {
            let byte = json[index]
            if byte == 0x7F {
                safe += Array("\\u007f".utf8)
            } else if byte == 0xC2, index + 1 < json.count, (0x80...0x9F).contains(json[index + 1]) {
                index += 1
                safe += Array("\\u00\(String(json[index], radix: 16))".utf8)
            } else {
                safe.append(byte)
            }
            index += 1
        }
        return safe
    }
}
