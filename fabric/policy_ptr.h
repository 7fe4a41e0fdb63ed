// SPDX-License-Identifier: Apache-2.0
// A pointer to a policy, together with the hooks that the policy's class overrides. Switches and
// hosts call only these, so unused hooks cost nothing. The compiler finds the hooks where the
// policy is handed over, which is the last place that knows its class, so no author can forget to
// list one.

#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <type_traits>
#include <utility>

namespace heddle {

// Owns a policy, or nothing. `Policy` is SwitchPolicy or HostPolicy.
template <class Policy>
class PolicyPtr {
 public:
  PolicyPtr() = default;
  PolicyPtr(std::nullptr_t) {}

  // From std::make_unique<MyPolicy>(...).
  template <class T>
  PolicyPtr(std::unique_ptr<T> policy) {
    static_assert(std::is_final_v<T>,
                  "declare the policy's class final, and hand over a pointer to that class: the "
                  "hooks that a policy overrides are found from its class");
    if (policy) hooks_ = T::HooksOf(*policy);
    policy_ = std::move(policy);
  }

  uint32_t hooks() const { return hooks_; }

  Policy* get() const { return policy_.get(); }
  Policy& operator*() const { return *policy_; }
  Policy* operator->() const { return policy_.get(); }
  explicit operator bool() const { return policy_ != nullptr; }
  friend bool operator==(const PolicyPtr& policy, std::nullptr_t) { return !policy; }

 private:
  std::unique_ptr<Policy> policy_;
  uint32_t hooks_ = 0;
};

// True if Member, the type of a pointer to a member, points to a member that Base itself declares.
template <class Base, class Member>
inline constexpr bool kIsMemberOf = false;
template <class Base, class Function>
inline constexpr bool kIsMemberOf<Base, Function Base::*> = true;

// The same pointer, to a member of T.
template <class T, class Member>
struct AsMemberOf;
template <class T, class Base, class Function>
struct AsMemberOf<T, Function Base::*> {
  using Type = Function T::*;
};

}  // namespace heddle

// Defines Overrides<Function><T, Base>(), which is true if T, or a class between T and Base,
// overrides a virtual function of Interface. The type of &T::Function names the class that declares
// the function last. An override that is private, or has overloads beside it, gives no such type;
// without overrides there always is one.
#define HEDDLE_DEFINE_OVERRIDES(Interface, Function)                                       \
  template <class T, class Base>                                                           \
  constexpr bool Overrides##Function() {                                                   \
    if constexpr (requires { typename ::std::type_identity_t<decltype(&T::Function)>; }) { \
      using Virtual = typename AsMemberOf<T, decltype(&Interface::Function)>::Type;        \
      static_assert(::std::is_convertible_v<decltype(&T::Function), Virtual>,              \
                    #Function " has other parameters than that of " #Interface             \
                              ", which it hides instead of overriding it");                \
      return !kIsMemberOf<Base, decltype(&T::Function)>;                                   \
    } else {                                                                               \
      return true;                                                                         \
    }                                                                                      \
  }
