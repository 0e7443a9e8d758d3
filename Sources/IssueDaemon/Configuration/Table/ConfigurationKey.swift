/// One key of a section: how it is written, what it sets, and what to say of it.
struct ConfigurationKey<Root>: Sendable {
    let facts: KeyFacts
    /// Sets what the text says; a text that is not accepted changes nothing.
    let assign: @Sendable (inout Root, String) -> Void
    let text: @Sendable (Root) -> String

    var name: String { facts.name }

    init<Value>(
        _ name: String, _ path: any WritableKeyPath<Root, Value> & Sendable, _ form: ValueForm<Value>,
        default defaultText: String, _ help: String
    ) {
        facts = KeyFacts(
            name: name, defaultText: defaultText, help: help, isList: false, expected: form.expected,
            isRepeated: form.isRepeated, accepts: { form.parse($0) != nil })
        assign = { root, text in
            if let value = form.parse(text) { root[keyPath: path] = value }
        }
        text = { form.text($0[keyPath: path]) }
    }

    /// A key whose value need not be there.
    init<Value>(
        optional name: String, _ path: any WritableKeyPath<Root, Value?> & Sendable, _ form: ValueForm<Value>,
        default defaultText: String, _ help: String
    ) {
        self.init(name, path, form.optional(), default: defaultText, help)
    }

    /// A key that may stand several times, each time adding to what was said before.
    init<Element>(
        list name: String, _ path: any WritableKeyPath<Root, [Element]> & Sendable, _ form: ValueForm<[Element]>,
        default defaultText: String, _ help: String
    ) {
        facts = KeyFacts(
            name: name, defaultText: defaultText, help: help, isList: true, expected: form.expected,
            isRepeated: form.isRepeated, accepts: { form.parse($0) != nil })
        assign = { root, text in root[keyPath: path] += form.parse(text) ?? [] }
        text = { form.text($0[keyPath: path]) }
    }

    private init(
        facts: KeyFacts, assign: @escaping @Sendable (inout Root, String) -> Void,
        text: @escaping @Sendable (Root) -> String
    ) {
        self.facts = facts
        self.assign = assign
        self.text = text
    }

    /// The same key of something that holds its section.
    func lifted<Whole>(
        _ path: any WritableKeyPath<Whole, Root> & Sendable
    ) -> ConfigurationKey<Whole> {
        ConfigurationKey<Whole>(
            facts: facts, assign: { whole, text in assign(&whole[keyPath: path], text) },
            text: { text($0[keyPath: path]) })
    }
}
