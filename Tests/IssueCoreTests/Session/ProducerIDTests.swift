import Foundation
import IssueCore
import Testing

@Suite("The id of a producer")
struct ProducerIDTests {
    @Test("The id of a producer is a UUID in upper or lower case, parsed like Foundation's")
    func reads() {
        for _ in 0..<200 {
            let uuid = UUID()
            let id = ProducerID(uuid.uuidString)
            #expect(id != nil)
            #expect(id == ProducerID(uuid.uuidString.lowercased()))
            let hex = id?.bytes.map { String(format: "%02X", $0) }.joined()
            #expect(hex == uuid.uuidString.replacing("-", with: ""))
        }
        #expect(
            ProducerID("01234567-89ab-cdef-FEDC-BA9876543210")
                == ProducerID(high: 0x0123_4567_89AB_CDEF, low: 0xFEDC_BA98_7654_3210))
    }

    @Test(
        "The id of a producer is not parsed from invalid text",
        arguments: [
            "", "0123456789abcdeffedcba9876543210", "01234567-89ab-cdef-fedc-ba987654321",
            "01234567-89ab-cdef-fedc-ba98765432100", "01234567-89ab-cdef-fedc_ba9876543210",
            "{1234567-89ab-cdef-fedc-ba987654321}", "g1234567-89ab-cdef-fedc-ba9876543210",
            "01234567-89ab-cdef-fedc-ba987654321 ", "0123456-789ab-cdef-fedc-ba9876543210",
            "٠1234567-89ab-cdef-fedc-ba98765432",
        ])
    func isNothing(text: String) {
        #expect(ProducerID(text) == nil)
    }
}
