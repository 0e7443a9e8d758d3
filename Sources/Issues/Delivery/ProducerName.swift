internal import UnixIO

/// The name under which a process numbers its records.
package enum ProducerName {
    /// A random UUID (version 4).
    package static func random() -> String {
        var bytes = Randomness.bytes(16)
        bytes[6] = bytes[6] & 0x0F | 0x40
        bytes[8] = bytes[8] & 0x3F | 0x80
        let digits = Array("0123456789abcdef")
        var name = ""
        for (index, byte) in bytes.enumerated() {
            if [4, 6, 8, 10].contains(index) { name.append("-") }
            name.append(digits[Int(byte >> 4)])
            name.append(digits[Int(byte & 15)])
        }
        return name
    }
}
