//! Signatures of tokens, checked with the cryptography that TLS here uses too. Nothing is ever signed.

use jsonwebtoken::{
    Algorithm, DecodingKey, DecodingKeyKind,
    crypto::{CryptoProvider, JwtVerifier, KeyUtils},
    errors::{Error, ErrorKind},
    signature::{self, Verifier},
};
use ring::signature as ring_signature;

/// The algorithms that are accepted: a key that signs is not the one that checks. Never `none`, never a shared secret.
pub(crate) const ALGORITHMS: [Algorithm; 9] = [
    Algorithm::RS256,
    Algorithm::RS384,
    Algorithm::RS512,
    Algorithm::PS256,
    Algorithm::PS384,
    Algorithm::PS512,
    Algorithm::ES256,
    Algorithm::ES384,
    Algorithm::EdDSA,
];

static PROVIDER: CryptoProvider = CryptoProvider {
    signer_factory: |_, _| Err(unsupported()),
    verifier_factory: |algorithm, key| {
        let check = check_of(*algorithm).ok_or_else(unsupported)?;
        if key.family() != algorithm.family() {
            return Err(unsupported());
        }
        Ok(Box::new(RingVerifier { algorithm: *algorithm, check, key: key.clone() }))
    },
    key_utils: KeyUtils::new_unimplemented(),
};

/// Uses these checks in this process.
pub(crate) fn install() {
    // An error says that they are in use already.
    let _ = PROVIDER.install_default();
}

fn unsupported() -> Error {
    ErrorKind::UnsupportedAlgorithm.into()
}

#[derive(Clone, Copy)]
enum Check {
    Rsa(&'static ring_signature::RsaParameters),
    Other(&'static dyn ring_signature::VerificationAlgorithm),
}

fn check_of(algorithm: Algorithm) -> Option<Check> {
    Some(match algorithm {
        Algorithm::RS256 => Check::Rsa(&ring_signature::RSA_PKCS1_2048_8192_SHA256),
        Algorithm::RS384 => Check::Rsa(&ring_signature::RSA_PKCS1_2048_8192_SHA384),
        Algorithm::RS512 => Check::Rsa(&ring_signature::RSA_PKCS1_2048_8192_SHA512),
        Algorithm::PS256 => Check::Rsa(&ring_signature::RSA_PSS_2048_8192_SHA256),
        Algorithm::PS384 => Check::Rsa(&ring_signature::RSA_PSS_2048_8192_SHA384),
        Algorithm::PS512 => Check::Rsa(&ring_signature::RSA_PSS_2048_8192_SHA512),
        Algorithm::ES256 => Check::Other(&ring_signature::ECDSA_P256_SHA256_FIXED),
        Algorithm::ES384 => Check::Other(&ring_signature::ECDSA_P384_SHA384_FIXED),
        Algorithm::EdDSA => Check::Other(&ring_signature::ED25519),
        // A shared secret, or what this program does not know.
        Algorithm::HS256 | Algorithm::HS384 | Algorithm::HS512 | _ => return None,
    })
}

struct RingVerifier {
    algorithm: Algorithm,
    check: Check,
    key: DecodingKey,
}

impl Verifier<Vec<u8>> for RingVerifier {
    fn verify(&self, message: &[u8], given: &Vec<u8>) -> Result<(), signature::Error> {
        let checked = match (self.check, self.key.kind()) {
            (Check::Rsa(parameters), DecodingKeyKind::RsaModulusExponent { n, e }) => {
                let key = ring_signature::RsaPublicKeyComponents { n, e };
                key.verify(parameters, message, given)
            }
            (Check::Other(algorithm), DecodingKeyKind::SecretOrDer(key)) => {
                ring_signature::UnparsedPublicKey::new(algorithm, key).verify(message, given)
            }
            (Check::Rsa(_), DecodingKeyKind::SecretOrDer(_))
            | (Check::Other(_), DecodingKeyKind::RsaModulusExponent { .. }) => {
                return Err(signature::Error::new());
            }
        };
        checked.map_err(|_| signature::Error::new())
    }
}

impl JwtVerifier for RingVerifier {
    fn algorithm(&self) -> Algorithm {
        self.algorithm
    }
}
