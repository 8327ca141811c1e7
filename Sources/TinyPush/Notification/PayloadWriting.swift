extension Payload {
  /// Writes the payload for one device at `start`, and returns the place after it.
  ///
  /// `text` is the text of the notification.
  @inline(never)
  package func write(
    _ rendition: Rendition, in text: Span<UInt8>, to buffer: borrowing FixedBuffer<UInt8>,
    at start: Int = 0
  ) -> Int {
    guard rendition.isChanged else {
      return buffer.store(json: text.extracting(range), bytes: bytes, at: start)
    }
    let gap = alert.range
    let alert = rendition.alert
    var end = buffer.store(json: text.extracting(range.lowerBound..<gap.lowerBound), at: start)
    func put(_ bytes: Span<UInt8>) {
      buffer.store(bytes, at: end)
      end += bytes.count
    }
    if gap.isEmpty { put(Rendition.key.span) }
    if let cut = rendition.cut {
      end = buffer.store(json: text.extracting(alert.range.lowerBound..<cut), at: end)
      put(Rendition.ellipsis.span)
      end = buffer.store(
        json: text.extracting(alert.text.upperBound..<alert.range.upperBound), isInString: true,
        at: end)
    } else {
      end = buffer.store(json: text.extracting(alert.range), at: end)
    }
    if gap.isEmpty, !isApsEmpty { put(("," as StaticString).span) }
    return buffer.store(json: text.extracting(gap.upperBound..<range.upperBound), at: end)
  }

  /// Whether the payload goes to the device exactly as the text has it.
  package func isVerbatim(_ rendition: Rendition) -> Bool {
    !rendition.isChanged && bytes == range.count
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
  fileprivate func store(
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
