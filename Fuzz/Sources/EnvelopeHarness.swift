import IssueProtocol

/// Calls and replies that were read are written and read again as they were.
///
/// Input: a message.
enum EnvelopeHarness {
    static func run(_ input: Span<UInt8>) {
        checkCall(input)
        checkReply(input)
    }

    private static func checkCall(_ input: Span<UInt8>) {
        do throws(VarlinkError) {
            let envelope = try VarlinkCall.Envelope(scanning: input)
            let call = try VarlinkCall(decoding: input)
            require(isJSON(input.array()), "What is no JSON was taken for a call")
            if let range = envelope.parameters {
                require(input.extracting(range).array() == call.parameters, "The parameters lie somewhere else")
            } else {
                require(call.parameters == Array("{}".utf8), "There are parameters that nobody sent")
            }
            require(call.parameters.first == UInt8(ascii: "{"), "The parameters are no object")
            require(isJSON(call.parameters), "The parameters are no JSON")
            let message = call.message
            require(message.last == 0 && !message.dropLast().contains(0), "A message ends within itself")
            let again = try VarlinkCall(decoding: Array(message.dropLast()))
            require(again == call, "\(call) became \(again)")
        } catch {
            checkFailure(error)
        }
    }

    private static func checkReply(_ input: Span<UInt8>) {
        do throws(VarlinkError) {
            let reply = try VarlinkReply(decoding: input)
            require(isJSON(input.array()), "What is no JSON was taken for a reply")
            let message = reply.message
            require(message.last == 0 && !message.dropLast().contains(0), "A message ends within itself")
            let again = try VarlinkReply(decoding: Array(message.dropLast()))
            require(again == reply, "\(reply) became \(again)")
            guard let error = CollectorError(reply) else { return }
            require(!error.description.isEmpty, "An error has nothing to say")
            require(
                CollectorError(error.reply) == error,
                "\(error) became \(String(describing: CollectorError(error.reply)))")
        } catch {
            checkFailure(error)
        }
    }

    private static func checkFailure(_ error: VarlinkError) {
        switch error {
        case .malformed: break
        case .invalid(let field): require(!field.reason.isEmpty, "A message was refused without a reason")
        }
    }

    private static func isJSON(_ bytes: [UInt8]) -> Bool {
        do throws(PlainJSON.Failure) {
            _ = try PlainJSON.value(bytes)
            return true
        } catch {
            return error == .tooDeep
        }
    }
}
