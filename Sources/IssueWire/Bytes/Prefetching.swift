public import CProcessor

// Where thousands of things are met in turn, most of the time goes by in waiting for their memory. What is asked for a
// little before it is needed comes while something else is done. Nothing is read here, so any place may be asked for.

extension Array {
    /// Has the memory of an element fetched, if there is such an element.
    @inlinable @inline(__always)
    package func prefetch(at index: Int) {
        guard index >= 0, index < count else { return }
        unsafe withUnsafeBufferPointer { elements in
            guard let first = elements.baseAddress else { return }
            unsafe cprocessor_prefetch(first + index)
        }
    }
}

extension ByteBuffer {
    /// Has a part of the bytes fetched, as far as they were gathered.
    @inlinable @inline(__always)
    package func prefetch(from start: Int, to stop: Int) {
        let line = 64
        var index = start
        while index < Swift.min(stop, storage.count) {
            storage.prefetch(at: index)
            index &+= line
        }
    }
}
