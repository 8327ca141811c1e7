extension Payload {
  /// Writes the payload for one device at `start`, and returns the place after it.
  ///
  /// `text` is the text of the notification.
  @inline(never)
  package func write(
    _ rendition: Rendition, in text: Span<UInt8>, to buffer: borrowing FixedBuffer<UInt8>,
    at start: Int = 0
  ) -> Int {
    guard rendition.isChanged || additions.bytes > 0 else {
      return buffer.store(json: text.extracting(range), bytes: bytes, at: start)
    }
    let gap = alert.range
    let alert = rendition.alert
    let isInserted = gap.isEmpty && rendition.isChanged
    var end = store(range.lowerBound..<gap.lowerBound, of: text, to: buffer, at: start)
    func put(_ bytes: Span<UInt8>) {
      buffer.store(bytes, at: end)
      end += bytes.count
    }
    if isInserted { put(Rendition.key.span) }
    if let cut = rendition.cut {
      end = buffer.store(json: text.extracting(alert.range.lowerBound..<cut), at: end)
      put(Rendition.ellipsis.span)
      end = buffer.store(
        json: text.extracting(alert.text.upperBound..<alert.range.upperBound), isInString: true,
        at: end)
    } else {
      end = buffer.store(json: text.extracting(alert.range), at: end)
    }
    if isInserted, !isApsEmpty { put(("," as StaticString).span) }
    return store(gap.upperBound..<range.upperBound, of: text, to: buffer, at: end)
  }

  /// Writes a part of the payload with the additions that belong there, and returns the place after
  /// them.
  private func store(
    _ part: Range<Int>, of text: Span<UInt8>, to buffer: borrowing FixedBuffer<UInt8>, at start: Int
  ) -> Int {
    var (place, end, isInString) = (part.lowerBound, start, false)
    if place < apsStart, apsStart <= part.upperBound {
      end = buffer.store(json: text.extracting(place..<apsStart), at: end)
      buffer.store(additions.members.span, at: end)
      end += additions.members.utf8CodeUnitCount
      place = apsStart
    }
    if place < additions.soundEnd, additions.soundEnd <= part.upperBound {
      end = buffer.store(json: text.extracting(place..<additions.soundEnd), at: end)
      buffer.store(PayloadAdditions.soundEnding.span, at: end)
      end += PayloadAdditions.soundEnding.utf8CodeUnitCount
      (place, isInString) = (additions.soundEnd, true)
    }
    let rest = text.extracting(place..<part.upperBound)
    return buffer.store(json: rest, isInString: isInString, at: end)
  }

  /// Whether the payload goes to the device exactly as the text has it.
  package func isVerbatim(_ rendition: Rendition) -> Bool {
    !rendition.isChanged && bytes == range.count && additions.bytes == 0 && !isSealed
  }
}

extension FixedBuffer where Element == UInt8 {
  /// Writes JSON text without its white space at `start`, and returns the place after it.
  ///
  /// - Parameter bytes: the length of the text without white space.
  package func store(json text: Span<UInt8>, bytes: Int, at start: Int) -> Int {
    guard bytes == text.count else { return store(json: text, at: start) }
    store(text, at: start)
    return start + bytes
  }

  /// Writes JSON text without the white space between its values, and returns the place after it.
  ///
  /// - Parameter isInString: whether the text begins inside a string.
  package func store(
    json text: Span<UInt8>, isInString: Bool = false, at start: Int
  ) -> Int {
    var end = start
    var isInString = isInString
    var isEscaped = false
    for position in 0..<text.count {
      let byte = text[position]
      if isInString {
        if isEscaped {
          isEscaped = false
        } else if byte == .backslash {
          isEscaped = true
        } else if byte == .quote {
          isInString = false
        }
      } else if byte == .quote {
        isInString = true
      } else if byte <= .space {
        continue
      }
      self[end] = byte
      end += 1
    }
    return end
  }
}
