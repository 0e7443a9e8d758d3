import IssueCore
import Testing

@Suite("Parsing producer ids")
struct ProducerReaderTests {
    @Test("Parsing producer ids gives the same result for a text whatever was parsed before")
    func memory() {
        let name = "019aa3c5-7d4e-7000-8000-0123456789ab"
        var texts = [name, name.uppercased(), String(name.dropLast()), name + "0", ""]
        for index in name.indices {
            var other = name
            other.replaceSubrange(index...index, with: name[index] == "g" ? "h" : "g")
            texts.append(other)
            other.replaceSubrange(index...index, with: name[index] == "1" ? "2" : "1")
            texts.append(other)
        }
        var reader = ProducerReader()
        for text in texts.flatMap({ [name, $0, $0] }) {
            let bytes = Array(text.utf8)
            #expect(reader.id(bytes.span, from: 0, to: bytes.count) == ProducerID(text))
        }
    }
}
