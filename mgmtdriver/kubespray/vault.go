package kubespray

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/hmac"
	"crypto/pbkdf2"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"strings"
)

// The format of Ansible Vault 1.1 (docs.ansible.com, "Ansible Vault payload format 1.1 - 1.2").
const (
	vaultHeader     = "$ANSIBLE_VAULT;1.1;AES256"
	vaultIterations = 10000
	vaultLine       = 80 // characters
)

// vaulted encrypts a file for Ansible.
func vaulted(content []byte, password string) ([]byte, error) {
	salt := make([]byte, 32)
	_, _ = rand.Read(salt) // which never fails
	derived, err := pbkdf2.Key(sha256.New, password, salt, vaultIterations, 32+32+aes.BlockSize)
	if err != nil {
		return nil, err
	}
	block, err := aes.NewCipher(derived[:32])
	if err != nil {
		return nil, err
	}
	padding := aes.BlockSize - len(content)%aes.BlockSize
	sealed := append(append([]byte{}, content...), strings.Repeat(string(rune(padding)), padding)...)
	cipher.NewCTR(block, derived[64:]).XORKeyStream(sealed, sealed)
	mac := hmac.New(sha256.New, derived[32:64])
	mac.Write(sealed)
	inner := hex.EncodeToString(salt) + "\n" + hex.EncodeToString(mac.Sum(nil)) + "\n" + hex.EncodeToString(sealed)
	outer := hex.EncodeToString([]byte(inner))
	var file strings.Builder
	file.WriteString(vaultHeader + "\n")
	for outer != "" {
		line := outer[:min(vaultLine, len(outer))]
		file.WriteString(line + "\n")
		outer = outer[len(line):]
	}
	return []byte(file.String()), nil
}
