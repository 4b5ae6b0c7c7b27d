//! Long lists of numbers as bytes, for values that are stored and read back whole.

/// A list of bytes.
pub mod bytes {
    use serde::{Deserializer, Serializer};

    /// Writes the list.
    pub fn serialize<S: Serializer>(list: &[u8], serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_bytes(list)
    }

    /// Reads the list.
    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<u8>, D::Error> {
        deserializer.deserialize_bytes(super::Bytes)
    }
}

/// A list of numbers, four bytes each.
pub mod numbers {
    use serde::{Deserializer, Serializer};

    /// Writes the list.
    pub fn serialize<S: Serializer>(list: &[u32], serializer: S) -> Result<S::Ok, S::Error> {
        let bytes: Vec<u8> = list.iter().flat_map(|number| number.to_le_bytes()).collect();
        serializer.serialize_bytes(&bytes)
    }

    /// Reads the list.
    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<u32>, D::Error> {
        let bytes = deserializer.deserialize_bytes(super::Bytes)?;
        let (numbers, _) = bytes.as_chunks::<4>();
        Ok(numbers.iter().map(|number| u32::from_le_bytes(*number)).collect())
    }
}

struct Bytes;

impl serde::de::Visitor<'_> for Bytes {
    type Value = Vec<u8>;

    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("bytes")
    }

    fn visit_bytes<E: serde::de::Error>(self, bytes: &[u8]) -> Result<Vec<u8>, E> {
        Ok(bytes.to_vec())
    }

    fn visit_byte_buf<E: serde::de::Error>(self, bytes: Vec<u8>) -> Result<Vec<u8>, E> {
        Ok(bytes)
    }
}
